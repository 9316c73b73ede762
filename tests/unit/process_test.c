/* The table of the states of a process. */

#include "core/process.h"

#include "check.h"

static void
a_life_goes_from_starting_to_gone(void)
{
	CHECK_EQ(PROCESS_STARTING, process_next(PROCESS_GONE, PROCESS_STARTED));
	CHECK_EQ(PROCESS_IDLE, process_next(PROCESS_STARTING, PROCESS_READY));
	CHECK_EQ(PROCESS_ACTIVE, process_next(PROCESS_IDLE, PROCESS_GIVEN));
	CHECK_EQ(PROCESS_IDLE, process_next(PROCESS_ACTIVE, PROCESS_EMPTIED));
	CHECK_EQ(PROCESS_STOPPING, process_next(PROCESS_IDLE, PROCESS_TOLD));
	CHECK_EQ(PROCESS_DYING, process_next(PROCESS_STOPPING, PROCESS_DIED));
	CHECK_EQ(PROCESS_GONE, process_next(PROCESS_DYING, PROCESS_FREED));
}

static void
a_process_with_sessions_retires_before_it_stops(void)
{
	CHECK_EQ(PROCESS_RETIRING, process_next(PROCESS_ACTIVE, PROCESS_TOLD));
	CHECK_EQ(
	    PROCESS_RETIRING, process_next(PROCESS_RETIRING, PROCESS_DONE));
	CHECK_EQ(
	    PROCESS_STOPPING, process_next(PROCESS_RETIRING, PROCESS_EMPTIED));
}

static void
every_living_state_can_die(void)
{
	for (int s = PROCESS_STARTING; s < PROCESS_DYING; s++)
		CHECK_EQ(PROCESS_DYING,
		    process_next((enum process_state)s, PROCESS_DIED));
}

static void
every_living_state_can_be_told_to_stop(void)
{
	for (int s = PROCESS_STARTING; s < PROCESS_DYING; s++) {
		enum process_state next =
		    process_next((enum process_state)s, PROCESS_TOLD);

		CHECK(next == PROCESS_RETIRING || next == PROCESS_STOPPING);
	}
}

static void
ready_twice_is_the_processs_own_fault(void)
{
	CHECK_EQ(PROCESS_STATES, process_next(PROCESS_IDLE, PROCESS_READY));
	CHECK_EQ(PROCESS_STATES, process_next(PROCESS_ACTIVE, PROCESS_READY));
}

static void
ready_after_it_was_told_to_stop_changes_nothing(void)
{
	CHECK_EQ(
	    PROCESS_STOPPING, process_next(PROCESS_STOPPING, PROCESS_READY));
}

static void
done_without_a_session_is_the_processs_own_fault(void)
{
	CHECK_EQ(PROCESS_STATES, process_next(PROCESS_STARTING, PROCESS_DONE));
	CHECK_EQ(PROCESS_STATES, process_next(PROCESS_IDLE, PROCESS_DONE));
	CHECK_EQ(PROCESS_STATES, process_next(PROCESS_STOPPING, PROCESS_DONE));
}

/* Messages from before its death may be read after it. */
static void
no_message_of_a_process_is_a_hole(void)
{
	static const enum process_event said[] = { PROCESS_READY, PROCESS_DONE,
		PROCESS_EMPTIED };

	for (int s = PROCESS_STARTING; s < PROCESS_STATES; s++)
		for (unsigned i = 0; i < 3; i++)
			CHECK(process_next((enum process_state)s, said[i]) <=
			    PROCESS_STATES);
}

static void
every_state_and_end_has_a_word(void)
{
	for (int s = 0; s < PROCESS_STATES; s++)
		CHECK(process_state_name((enum process_state)s) != NULL);
	for (int e = 0; e < PROCESS_ENDS; e++)
		CHECK(process_end_name((enum process_end)e) != NULL);
}

/* The section REASONS of the manual page; allocated, or NULL. */
static char *
read_reasons(void)
{
	FILE *in = fopen("man/apppoolctl.8", "r");
	char *manual = NULL, *begin, *end, *reasons = NULL;
	size_t size = 0;

	if (in == NULL)
		return NULL;
	if (getdelim(&manual, &size, '\0', in) != -1 &&
	    (begin = strstr(manual, "\n.Sh REASONS\n")) != NULL &&
	    (end = strstr(begin + 1, "\n.Sh ")) != NULL)
		reasons = strndup(begin, (size_t)(end - begin));
	free(manual);
	fclose(in);
	return reasons;
}

static void
the_manual_has_every_end_and_no_other(void)
{
	char *reasons = read_reasons(), *at = reasons, *line, *word;
	int e = 0;

	NEED(reasons != NULL);
	while ((line = strsep(&at, "\n")) != NULL) {
		if (strncmp(line, ".It Cm ", 7) != 0)
			continue;
		line += 7;
		while ((word = strsep(&line, " ,")) != NULL) {
			if (*word == '\0')
				continue;
			NEED(e < PROCESS_ENDS);
			CHECK_STR(
			    process_end_name((enum process_end)e++), word);
		}
	}
	CHECK_EQ(PROCESS_ENDS, e);
	free(reasons);
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	RUN(a_life_goes_from_starting_to_gone);
	RUN(a_process_with_sessions_retires_before_it_stops);
	RUN(every_living_state_can_die);
	RUN(every_living_state_can_be_told_to_stop);
	RUN(ready_twice_is_the_processs_own_fault);
	RUN(ready_after_it_was_told_to_stop_changes_nothing);
	RUN(done_without_a_session_is_the_processs_own_fault);
	RUN_ALONE(no_message_of_a_process_is_a_hole);
	RUN(every_state_and_end_has_a_word);
	RUN(the_manual_has_every_end_and_no_other);
	return check_finish();
}
