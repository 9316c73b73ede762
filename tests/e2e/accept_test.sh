#!/bin/sh
# handoff = accept: programs that know nothing of the daemon and call accept()
# on the listening socket they are started with.

. tests/e2e/accept_help.sh

# ---------------------------------------------------------------- a connection

testAProgramThatCallsAcceptIsServed() {
	starts 'max_processes = 1' accept web
	for count in 1 2 3; do
		assertEquals "$count" "$(nth 2 "$(web)")"
	done
	await status_is 3 apps web completed
	assert_accounts web
}

testAStaticProgramIsServed() {
	sed "s,/acceptor\",/acceptor-static\"," <<-EOF | conf
	$(accept web </dev/null)
	EOF
	pool_start
	assertEquals 1 "$(nth 2 "$(web)")"
}

testTheProgramSeesTheAddressOfATcpClient() {
	port=$(free_port)
	starts '' accept_tcp "$port"
	assert_told_its_address 127.0.0.1 "$port"
}

testTheProgramSeesTheAddressOfAnIpv6Client() {
	has_ipv6 || { skip 'no IPv6'; return; }
	port=$(free_port)
	accept web </dev/null | sed "s/^listen = .*/listen = \"[::1]:$port\"/" | conf
	pool_start
	assert_told_its_address ::1 "$port"
}

testAnUnnamedUnixClientHasAnAddressOfTwoBytes() {
	starts '' accept web
	# AF_UNIX, and nothing but that.
	assertEquals family1/2 "$(nth 3 "$(web)")"
}

testFlagsOfAccept4AreHonoured() {
	for flags in cloexec nonblock cloexec,nonblock; do
		accept web --accept4 "$flags" </dev/null | conf
		pool_start
		assertEquals "$flags" "$(nth 4 "$(web)")"
		pool_stop
	done
}

testAcceptWithoutFlagsGivesAPlainDescriptor() {
	starts '' accept web --nonblock --poll
	assertEquals - "$(nth 4 "$(web)")"
}

testUnknownFlagsOfAccept4FailWithEINVAL() {
	begins 'start_limit = 1' accept web --accept4 nonsense
	await said 'accept: Invalid argument'
}

testAnAddressPointerToNowhereFailsAndCostsNoConnection() {
	starts '' accept web --bad-pointer
	assertEquals 1 "$(nth 2 "$(web)")"
	await said 'accept: Bad address'
	await status_is 1 apps web completed
	assertEquals 0 "$(status apps web lost)"
}

# ---------------------------------------------------------------- its socket

testTheListeningSocketIsDescriptorThreeToo() {
	starts '' accept web --fd 3
	assertEquals 1 "$(nth 2 "$(web)")"
	assertEquals 1 "$(nth 5 "$(web 'env LISTEN_FDS')")"
}

testListenPidIsThatOfTheProgram() {
	starts '' accept web
	answer=$(web 'env LISTEN_PID')
	assertEquals "$(nth 1 "$answer")" "$(nth 5 "$answer")"
}

testTheProgramIsToldItsAppAndSlotButNoProtocol() {
	starts '' accept web
	assertEquals web "$(nth 5 "$(web 'env APPPOOL_APP')")"
	assertEquals 0 "$(nth 5 "$(web 'env APPPOOL_SLOT')")"
	for name in APPPOOL_FD APPPOOL_PROTOCOL APPPOOL_FAMILY; do
		assertEquals "$name" unset "$(nth 5 "$(web "env $name")")"
	done
}

testTheProgramInheritsItsSocketAndNothingElse() {
	starts '' accept web
	# 0 to 3 while it waits.
	assertEquals 4 "$(fds "$(program)")"
}

testAListenerOfTheProgramsOwnIsLeftAlone() {
	accept web --other "$DIR/other.sock" </dev/null | conf
	chmod 777 "$DIR"
	pool_start
	assertEquals 2 "$(nth 2 "$(ask "unix:$DIR/other.sock")
$(ask "unix:$DIR/other.sock")" | tail -n 1)"
	assertEquals 3 "$(nth 2 "$(web)")"
	await status_is 1 apps web completed
	chmod 755 "$DIR"
}

testStrangersWhoConnectToTheProgramsSocketAreThrownOut() {
	starts '' accept web --poll --nonblock
	name=$("$PYTHON" - "$(program)" <<-'PYTHON'
	import os
	import sys

	inode = os.readlink(f"/proc/{sys.argv[1]}/fd/0")[8:-1]
	for line in open("/proc/net/unix"):
	    words = line.split()
	    if words[6] == inode:
	        print(words[7][1:])
	PYTHON
	)
	assertEquals '' "$("$PYTHON" - "$name" "$LIMIT" <<-'PYTHON'
	import socket
	import sys

	client = socket.socket(socket.AF_UNIX)
	client.settimeout(float(sys.argv[2]))
	client.connect("\0" + sys.argv[1])
	try:
	    print(client.recv(100).decode(), end="")
	except ConnectionResetError:
	    pass
	except TimeoutError:
	    print("still connected")
	PYTHON
	)"
	# The count is still that of a first one.
	assertEquals 1 "$(nth 2 "$(web)")"
}

testAcceptByIoUringIsRefused() {
	starts '' accept web
	assertEquals 'Function not implemented' "$(web ring | cut -d ' ' -f 5-)"
}

. tests/e2e/lib.sh
