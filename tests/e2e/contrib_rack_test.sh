#!/bin/sh
# apppool-rack keeps to HTTP and to Rack; rack.py plays the daemon.

. tests/e2e/contrib_help.sh
play rack /usr/share/doc/ruby-rack -- "$@"
