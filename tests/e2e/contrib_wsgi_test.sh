#!/bin/sh
# apppool-wsgi keeps connections, and is a template; wsgi.py plays the daemon.

if ! [ -x /usr/bin/python3 ]; then
	echo "skip wsgi: there is no /usr/bin/python3"
	echo "## passed=0 total=0"
	exit 0
fi
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 tests/e2e/workers/wsgi.py "$@"
