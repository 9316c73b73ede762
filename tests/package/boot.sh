#!/bin/sh
# usage: boot.sh FOLDER
#
# As process 1 of namespaces of its own: becomes the systemd of the machine in
# FOLDER, which is a mount.
set -e
cd "$1"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
pivot_root . mnt
umount -l mnt
exec env -i container=test APPPOOL_TEST="$APPPOOL_TEST" \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --log-target=console --show-status=no
