#ifndef CTL_CTL_TOP_H
#define CTL_CTL_TOP_H

/*
 * apppoolctl top: becomes the program apppool-top, which alone is linked with
 * ncurses: that would take 300 KiB of the daemon. Returns an exit status if it
 * cannot.
 */
int ctl_top(char **argv);

#endif
