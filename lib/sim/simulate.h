#ifndef SIM_SIMULATE_H
#define SIM_SIMULATE_H

/*
 * apppoolctl simulate: the whole command, with the arguments of the program,
 * of which "simulate" is the only word that is no option's.  Gives the exit
 * status.
 */
int simulate_main(int argc, char **argv);

#endif
