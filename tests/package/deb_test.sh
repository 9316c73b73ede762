#!/bin/sh
# The packages of `make deb`, on a machine with systemd, from their installation
# to their purge: each test goes on where the one before it has stopped. Called
# by tests/package/run.

# The holder of a mount namespace with the machine's files, which outlive a boot.
file_setup() {
	MACHINE=$DIR/machine
	mkdir "$MACHINE"
	# shellcheck disable=SC2016 # the inner shell's
	start_process unshare -m sh -c '
		mount -t tmpfs -o mode=755 tmpfs "$2" && cd "$2" &&
		    tar -xpf "$1/server.tar" && mkdir root/packages &&
		    cp "$1"/*.deb root/packages && rm -f root/packages/*dbgsym* &&
		    cp -L /etc/resolv.conf /etc/hosts etc && : >root/ready &&
		    { apt-config dump | grep -E "^Acquire::https?::Proxy ";
			echo "APT::Sandbox::User \"root\";"; } \
			>etc/apt/apt.conf.d/proxy
		exec sleep 3600' sh "$DEB" "$MACHINE" >"$DIR/holder" 2>&1
	HOLDER=$STARTED
	wait_for 60 has_files || cat "$DIR/holder"
	boot
	online apt-get -qq update
	inside find / -xdev \( -path /proc -o -path /sys -o -path /run \
	    -o -path /tmp -o -path /var/tmp \) -prune -o -print >"$DIR/before"
}

file_teardown() {
	power_off
	stop_process "$HOLDER"
}

has_files() {
	nsenter -t "$HOLDER" -m test -e "$MACHINE/root/ready"
}

# boot: returns when all that the machine starts has started. Process 1 is $INIT;
# it does not end with the test.
boot() {
	INIT=''
	nsenter -t "$HOLDER" -m unshare -m -p -C -n -f \
	    --kill-child "$PWD/tests/package/boot.sh" "$MACHINE" \
	    >>"$DIR/console" 2>&1 </dev/null &
	BOOTED=$!
	wait_for $((6 * LIMIT)) booted || cat "$DIR/console"
	inside ip link set lo up 2>/dev/null || :
}

booted() {
	INIT=$(children "$BOOTED") && INIT=${INIT%% *} && [ -n "$INIT" ] &&
	    inside systemctl is-system-running 2>/dev/null |
	    grep -qE 'running|degraded'
}

power_off() {
	[ -n "$INIT" ] || return 0
	kill -KILL "$INIT"
	wait "$BOOTED"
	INIT=''
}

# inside COMMAND...: on the machine; online: with our network.
inside() {
	nsenter -t "$INIT" -m -p -C -n env -i HOME=/root LC_ALL=C.UTF-8 \
	    PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout "$LIMIT" "$@" </dev/null
}

online() {
	nsenter -t "$INIT" -m -p -C env -i HOME=/root LC_ALL=C.UTF-8 \
	    ${http_proxy:+http_proxy="$http_proxy"} \
	    ${https_proxy:+https_proxy="$https_proxy"} \
	    DEBIAN_FRONTEND=noninteractive \
	    PATH=/usr/sbin:/usr/bin:/sbin:/bin timeout 600 "$@" </dev/null
}

# apt VERB...: it succeeds, and says nothing of a failure.
apt() {
	online sh -c "cd /root/packages && exec apt-get -y -q \
	    -o Dpkg::Use-Pty=0 $*" >"$DIR/apt" 2>&1
	assertEquals "apt-get $*: $(cat "$DIR/apt")" 0 $?
	assertEquals '' "$(grep -iE '^(dpkg: )?(warning|error)|failed' "$DIR/apt")"
}

# property NAME [UNIT]
property() {
	inside systemctl show "${2:-apppoold}" -p "$1" --value
}

# processes TEXT: folders in /proc of those whose command line begins with it.
processes() {
	inside sh -c "grep -la '^$1' /proc/[0-9]*/cmdline" |
	    sed 's,/cmdline,,'
}

no_unit_has_failed() {
	assertEquals '' "$(inside systemctl --failed --plain --no-legend |
	    grep apppool)"
}

page() {
	inside curl -sSf http://127.0.0.1:8080/
}

# configure: the configuration, from stdin, with hello.conf and two lines of log.
configure() {
	cat >"$DIR/pool.conf"
	inside sh -c "cat >/etc/apppoold/pool.conf <<'END'
$(cat "$DIR/pool.conf")
END"
}

testThePackagesHaveTheVersionOfTheSources() {
	version=$(sed -n 's/^VERSION = //p' Makefile)
	for package in "$DEB"/*.deb; do
		assertEquals "$package" "$version" \
		    "$(dpkg-deb -f "$package" Version)"
	done
}

testInstalledWithoutAConfigurationTheServiceIsEnabledAndWaits() {
	apt install ./apppoold_*.deb ./apppoold-*.deb ./apppool-*.deb \
	    ./libapppool*.deb
	assertEquals enabled "$(property UnitFileState)"
	assertEquals inactive "$(property ActiveState)"
	assertEquals no "$(property ConditionResult)"
	no_unit_has_failed
}

testTheCounterOfItsOwnIsNotEnabled() {
	assertEquals disabled "$(property UnitFileState apppool-counter)"
	assertEquals inactive "$(property ActiveState apppool-counter)"
}

testTheFirstStepsOfTheFolderServeAPage() {
	inside sed -n 's/^	//p' /etc/apppoold/README >"$DIR/steps"
	assertTrue 'there are none' "[ -s '$DIR/steps' ]"
	inside sh -exc "$(cat "$DIR/steps")" >"$DIR/said" 2>&1
	assertEquals "$(cat "$DIR/said")" 0 $?
	assertContains "$(cat "$DIR/said")" 'hello'
	assertContains "$(cat "$DIR/said")" 'running'
}

testTheKeeperRunsAsTheUserOfThePackage() {
	uid=$(inside id -u _apppoold)
	assertEquals "Uid:	$uid	$uid	$uid	$uid" "$(inside grep '^Uid:' \
	    "$(processes 'apppoold: keeper')/status")"
}

testSystemctlReloadTakesUpProgramsOfAllPackages() {
	examples=/usr/share/doc/apppoold/examples
	configure <<-END
	log = /var/log/apppoold.log
	counter = "127.0.0.1:7531"
	include("$examples/hello.conf")
	include("$examples/wsgi.conf")
	include("$examples/status.conf")
	END
	inside systemctl reload apppoold
	assertEquals 0 $?
	for app in hello wsgi status; do
		assertContains "$(inside apppoolctl ping $app 2>&1)" ': 200 '
	done
	assertContains "$(inside apppoolctl -j status)" '"counter":{'
	no_unit_has_failed
}

testAfterLogrotateTheDaemonWritesANewFile() {
	inside logrotate -f /etc/logrotate.d/apppoold
	assertEquals 0 $?
	inside apppoolctl restart hello >/dev/null
	assertTrue 'inside grep -q hello /var/log/apppoold.log'
	assertTrue 'inside test -s /var/log/apppoold.log.1'
}

testWithoutADaemonLogrotateHasNoFault() {
	inside systemctl stop apppoold
	said=$(inside sh -c 'echo line >>/var/log/apppoold.log
	    exec logrotate -f /etc/logrotate.d/apppoold' 2>&1)
	assertEquals '0 ' "$? $said"
	inside systemctl start apppoold
}

testAnUpgradeReplacesTheDaemonWithoutARestart() {
	former=$(property MainPID)
	apt install --reinstall ./apppoold_*.deb ./apppoold-*.deb
	assertContains "$(cat "$DIR/apt")" 'upgraded from'
	assertEquals "active $former" \
	    "$(property ActiveState) $(property MainPID)"
	assertContains "$(page)" hello
	assertEquals "$(cat "$DIR/pool.conf")" \
	    "$(inside cat /etc/apppoold/pool.conf)"
	no_unit_has_failed
}

testAfterARebootTheServiceRuns() {
	power_off
	boot
	assertEquals active "$(property ActiveState)"
	assertContains "$(page)" hello
}

testTheUnitOfTheCounterServes() {
	inside systemctl stop apppoold
	inside systemctl start apppool-counter
	assertEquals active "$(property ActiveState apppool-counter)"
	# shellcheck disable=SC2016 # the inner shell's
	assertContains "$(inside bash -c 'exec 3<>/dev/tcp/127.0.0.1/7531 &&
	    echo STATS FULL >&3 && head -n 1 <&3')" uptime
	inside systemctl stop apppool-counter
	inside systemctl start apppoold
}

testRemovedTheServiceHasStoppedAndItsConfigurationStays() {
	apt remove apppoold
	assertEquals inactive "$(property ActiveState)"
	assertFalse 'inside test -e /run/apppoold'
	assertEquals '' "$(processes apppool)"
	assertTrue 'inside test -e /etc/apppoold/pool.conf'
	no_unit_has_failed
}

# Files that were not there before, but for those of packages that all share.
new_files() {
	inside find / -xdev \( -path /proc -o -path /sys -o -path /run \
	    -o -path /tmp -o -path /var/tmp -o -path /var/cache \
	    -o -path /var/lib/apt -o -path /var/lib/dpkg \
	    -o -path /var/lib/logrotate -o -path /var/log/journal \
	    -o -path /var/log/apt -o -path /var/log/dpkg.log \) -prune -o -print |
	    grep -vxFf "$DIR/before" | head -n 30
}

testPurgedNoFileIsLeft() {
	# Python compiles for root what it imports.
	inside env PYTHONPATH=/usr/libexec/apppoold python3 -c 'import apppool'
	inside apppool-convert -h >/dev/null
	for folder in . convert; do
		assertTrue "inside test -e /usr/libexec/apppoold/$folder/__pycache__"
	done
	apt purge --autoremove apppoold apppoold-web apppoold-workers \
	    apppool-counter libapppool1 libapppool-dev
	assertEquals '' "$(new_files)"
	assertFalse 'inside test -e /run/apppoold'
	assertEquals '' "$(inside systemctl list-units --all --plain \
	    --no-legend '*apppool*')"
}

testInstalledBesideAConfigurationTheServiceRunsAtOnce() {
	inside mkdir /etc/apppoold
	configure <<-'END'
	app "echo" {
		listen = "127.0.0.1:8080"
		handoff = stdio
		command = "/bin/cat"
	}
	END
	apt install --no-install-recommends ./apppoold_*.deb
	assertEquals active "$(property ActiveState)"
	assertContains "$(inside apppoolctl ping echo)" connected
	apt purge --autoremove apppoold
	assertEquals '' "$(new_files)"
}

testAWorkerIsCompiledWithTheLibraryThatIsInstalled() {
	# shellcheck disable=SC2016 # the inner shell's
	said=$(unshare -m sh -c '
		mount -t tmpfs -o mode=755 tmpfs "$2" && cd "$2" &&
		    tar -xpf "$1/machine.tar" && cp "$1"/libapppool*.deb tmp &&
		    cp "$3" tmp && chroot . sh -c "
			cd /tmp && dpkg -i *.deb >/dev/null &&
			    cc -D_GNU_SOURCE -o hello hello.c -lapppool &&
			    ldd hello"' \
	    sh "$DEB" "$MACHINE" "$PWD/contrib/workers/hello.c" 2>&1)
	assertContains "$said" "$said" 'libapppool.so.1 => /'
}

. tests/e2e/lib.sh
