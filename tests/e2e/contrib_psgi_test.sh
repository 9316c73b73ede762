#!/bin/sh
# apppool-psgi and the parts of HTTP and PSGI; psgi.py plays the daemon.

. tests/e2e/contrib_help.sh
play psgi /usr/share/doc/libplack-perl \
    /usr/share/doc/libsocket-msghdr-perl -- "$@"
