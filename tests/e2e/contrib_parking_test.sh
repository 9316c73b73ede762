#!/bin/sh
# The sample workers park connections; parking.py plays the daemon.

. tests/e2e/contrib_help.sh
play parking -- "$@"
