#ifndef SYS_HANGUP_H
#define SYS_HANGUP_H

/* Whether a SIGHUP tells that our terminal is gone, or asks for something. */

#include <sys/signalfd.h>

#include <stdbool.h>

/* Notes the terminal we have, and who would tell us of its end. */
void hangup_init(void);

enum hangup {
	HANGUP_NO, /* the sender means what SIGHUP is for */
	HANGUP_YES, /* the terminal is gone */
	HANGUP_UNSURE, /* see hangup_is_over(), a moment later */
};

/* The meaning of this SIGHUP. */
enum hangup hangup_look(const struct signalfd_siginfo *info);

/*
 * Whether the terminal is gone. The shell is told a moment before we lose the
 * terminal, and may have passed the signal on by then.
 */
bool hangup_is_over(void);

#endif
