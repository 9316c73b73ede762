#ifndef CONF_RESOLVE_H
#define CONF_RESOLVE_H

#include "conf/build.h"

/*
 * Makes of the values what they mean on this machine, now and not when nothing
 * may wait for it: names of users and groups become numbers; directory,
 * restart_dir and command[0] become absolute, from the folder of the file that
 * names them or, with chroot, from the new root; the adapters that handoffs
 * need are found; what on_full = reply:FILE sends is read.
 *
 * What is not there is no mistake of the file: it breaks its app.
 */
void resolve_conf(struct build *b);

#endif
