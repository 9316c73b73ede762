#!/bin/sh
# The sample workers answer HTTP properly; contrib.py plays the daemon.

. tests/e2e/contrib_help.sh
play contrib -- "$@"
