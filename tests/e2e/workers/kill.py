"""usage: kill.py DAEMON PROGRAM SECONDS

Kills a process of the daemon that runs the program, drawn at random, every so
many seconds, until it is killed itself.  Pids are used again: a process is
killed only if it is a child of the daemon.
"""

import os
import random
import signal
import sys
import time


def is_ours(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            fields = f.read()
    except OSError:
        return False
    name = fields[fields.index("(") + 1:fields.rindex(")")]
    parent = int(fields[fields.rindex(")") + 1:].split()[1])
    return name == program and parent == daemon


def children():
    pids = []
    for task in os.listdir(f"/proc/{daemon}/task"):
        try:
            with open(f"/proc/{daemon}/task/{task}/children") as f:
                pids += map(int, f.read().split())
        except OSError:
            pass
    return pids


daemon, program = int(sys.argv[1]), sys.argv[2]
random.seed(1)
while True:
    pids = children()
    if pids:
        pid = random.choice(pids)
        try:
            fd = os.pidfd_open(pid)
            if is_ours(pid):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.close(fd)
        except OSError:
            pass
    time.sleep(float(sys.argv[3]))
