#!/bin/sh
# handoff = accept by the library: the socket of the program, and the addresses
# of clients, as by the adapter.

# shellcheck disable=SC2034 # for accept_help.sh
ACCEPT_BY=auto
SHUNIT_PARENT=tests/e2e/accept_socket_test.sh

. tests/e2e/accept_socket_test.sh
