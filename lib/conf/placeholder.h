#ifndef CONF_PLACEHOLDER_H
#define CONF_PLACEHOLDER_H

/*
 * The words in `command` and `environment` that stand for values of a process:
 * "{app}", "{slot}", and "{slot+N}" for a sum. All other braces are text.
 */

#include <stdbool.h>
#include <stdint.h>

/* Whether there is a "{slot}" or "{slot+N}" in it. */
bool placeholder_has_slot(const char *text);

/*
 * The text for the process of that slot, allocated. NULL and ENOMEM, also if it
 * would be longer than anything that can be executed.
 */
char *placeholder_fill(const char *text, const char *app, uint32_t slot);

#endif
