#ifndef CTL_CTL_WIDTH_H
#define CTL_CTL_WIDTH_H

#include <stddef.h>

/* Columns of COLUMNS, or of the terminal on standard output; 0: no bound. */
size_t ctl_width(void);

#endif
