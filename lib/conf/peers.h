#ifndef CONF_PEERS_H
#define CONF_PEERS_H

/*
 * What options are called in files of other pool managers, servers and
 * supervisors: for those who come from there. pool.conf(5) has more of them
 * under NAMES ELSEWHERE.
 */

/* The option of ours that this one is nearest to, or NULL. */
const char *peers_option(const char *name);

#endif
