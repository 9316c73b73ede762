#!/bin/sh
# apppool-wsgi keeps connections, and is a template; wsgi.py plays the daemon.

. tests/e2e/contrib_help.sh
play wsgi -- "$@"
