/* The connections a worker holds: pages of slots, indexed by descriptor. */

#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "worker/session.h"

#define PAGE_SLOTS 64

struct slot {
	struct session session;
	bool held;
};

/* Made when a descriptor first falls into it, kept until the process ends. */
struct page {
	struct slot slots[PAGE_SLOTS];
};

static struct {
	pthread_mutex_t lock;
	struct page **pages;
	size_t npages;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The slot of fd, or NULL if its page does not exist. */
static struct slot *
slot_find(int fd)
{
	size_t page = (size_t)fd / PAGE_SLOTS;

	if (fd < 0 || page >= table.npages || table.pages[page] == NULL)
		return NULL;
	return &table.pages[page]->slots[fd % PAGE_SLOTS];
}

static bool
page_make(size_t page)
{
	if (page >= table.npages) {
		size_t npages = page + 1;
		struct page **pages =
		    reallocarray(table.pages, npages, sizeof(*pages));

		if (pages == NULL)
			return false;
		for (size_t i = table.npages; i < npages; i++)
			pages[i] = NULL;
		table.pages = pages;
		table.npages = npages;
	}
	if (table.pages[page] == NULL)
		table.pages[page] = calloc(1, sizeof(struct page));
	return table.pages[page] != NULL;
}

bool
session_put(int fd, const struct session *s)
{
	assert(fd >= 0);
	pthread_mutex_lock(&table.lock);

	bool made = page_make((size_t)fd / PAGE_SLOTS);

	if (made)
		*slot_find(fd) = (struct slot){ .session = *s, .held = true };
	pthread_mutex_unlock(&table.lock);
	return made;
}

static bool
session_find(int fd, bool forget, struct session *out)
{
	pthread_mutex_lock(&table.lock);

	struct slot *slot = slot_find(fd);
	bool held = slot != NULL && slot->held;

	if (held) {
		*out = slot->session;
		slot->held = !forget;
	}
	pthread_mutex_unlock(&table.lock);
	return held;
}

bool
session_get(int fd, struct session *out)
{
	return session_find(fd, false, out);
}

bool
session_take(int fd, struct session *out)
{
	return session_find(fd, true, out);
}
