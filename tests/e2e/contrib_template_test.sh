#!/bin/sh
# The libraries of workers are templates, too; templates.py plays the daemon.

. tests/e2e/contrib_help.sh
play templates -- "$@"
