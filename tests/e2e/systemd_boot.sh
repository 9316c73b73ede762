#!/bin/sh
# usage: systemd_boot.sh FOLDER
#
# As process 1 of namespaces of its own: becomes a systemd that knows nothing
# but the units in FOLDER, which it sees as /run/test.
set -e
mount -n --make-rprivate /
mkdir -p "$1/run" "$1/varlog"
mount -n -t tmpfs tmpfs "$1/run"
cp -a "$1/content" "$1/run/test"
mount -n --move "$1/run" /run
mount -n --bind "$1/varlog" /var/log
umount -nl /sys/fs/cgroup 2>/dev/null || :
mount -n -t tmpfs tmpfs /sys/fs/cgroup
mount -n -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run/systemd/system
mount -n -t tmpfs tmpfs /etc/systemd/system
cp /run/test/*.service /run/test/*.socket /run/test/*.target \
    /etc/systemd/system
export container=test
exec /lib/systemd/systemd --system --unit=test.target \
    --log-target=console --log-level=info --show-status=no
