#ifndef CTL_CTL_H
#define CTL_CTL_H

/* apppoolctl(8): says one line to a running daemon, and shows its answer. */

/*
 * The whole program; its first three descriptors are open. Gives its exit
 * status.
 */
int ctl_main(int argc, char **argv);

#endif
