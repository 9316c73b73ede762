"""usage: descriptors.py DAEMON PROGRAM COUNT SECONDS

Looks at the descriptors of every process of the daemon that runs the program,
until it has seen so many processes, and prints descriptors that none should
have: a process may have 0 to 3, one socket more, and nothing in common with
another one.  Too few processes within so many seconds are printed, too.
"""

import os
import re
import sys
import time

# Files that the dynamic linker and sanitizers open when a program starts.
LOADING = re.compile(r"/proc/|.*\.so[.0-9]*$|/etc/ld\.so\.")
USUAL = {0: "/dev/null", 1: "pipe:", 2: "pipe:", 3: "socket:"}

daemon, program = int(sys.argv[1]), sys.argv[2]
owner = {}
seen = set()


def children():
    pids = []
    for task in os.listdir(f"/proc/{daemon}/task"):
        try:
            with open(f"/proc/{daemon}/task/{task}/children") as f:
                pids += f.read().split()
        except OSError:
            pass
    return pids


def descriptors(pid):
    found = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            found[int(fd)] = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            pass
    return {fd: to for fd, to in found.items() if not LOADING.match(to)}


def is_wrong(pid, found):
    more = [to for fd, to in found.items() if fd > 3]
    if len(more) > 1 or not all(to.startswith("socket:") for to in more):
        return True
    for fd, to in found.items():
        if not to.startswith(USUAL.get(fd, "socket:")):
            return True
        if fd > 0 and owner.setdefault(to, pid) != pid:
            return True
    return False


count, until = int(sys.argv[3]), time.monotonic() + float(sys.argv[4])
while len(seen) < count and time.monotonic() < until:
    for pid in children():
        try:
            with open(f"/proc/{pid}/comm") as f:
                # Before its exec a child has the daemon's descriptors.
                if f.read().strip() != program:
                    continue
            found = descriptors(pid)
        except OSError:
            continue
        seen.add(pid)
        if is_wrong(pid, found):
            print(pid, found)
if len(seen) < count:
    print("only", len(seen), "processes")
