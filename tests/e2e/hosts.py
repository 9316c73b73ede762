"""Sessions of several hosts under one limit.

usage: hosts.py serve FILE HOST
       hosts.py judge FILE LIMIT

serve is a worker whose sessions take 20 to 40 ms, and each writes its begin and
its end to FILE, which all hosts have.  judge reads there how many sessions were
there at a time: no more than LIMIT, but for the time in which hosts find out that
a server was lost or is back, or cannot; then two servers may grant LIMIT each.
"""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../contrib/workers"))
import apppool  # noqa: E402

# Seconds after an event in which hosts may know different servers.  A server that
# was killed is missed at once; one that is back is found by a probe each second.
# A host that is cut off is missed after three seconds of silence and one probe,
# and stays apart until it is joined again.
UNCERTAIN = {"killed": 0.5, "restarted": 1.5, "cut": 60, "joined": 1.5}


def serve(path, host):
    file = os.open(path, os.O_WRONLY | os.O_APPEND)
    worker = apppool.Worker()
    worker.ready()
    for connection in worker.connections():
        os.write(file, b"%d + %s\n" % (time.time_ns(), host.encode()))
        time.sleep(random.uniform(0.02, 0.04))
        # The end comes before the lock is given back.
        os.write(file, b"%d - %s\n" % (time.time_ns(), host.encode()))
        connection.sendall(b"served\n")
        connection.close()


def judge(path, limit):
    with open(path, encoding="ascii") as file:
        lines = sorted((int(line.split()[0]), line.split()[1]) for line in file)
    phase, until, running, most, sessions = "start", 0, 0, {}, 0
    over_since, over = None, 0
    for now, what in lines:
        if over_since is not None:
            over += now - over_since
            over_since = None
        if what in UNCERTAIN:
            phase, until = what, now + UNCERTAIN[what] * 1e9
        else:
            running += 1 if what == "+" else -1
            sessions += what == "+"
        over_since = now if running > limit else None
        name = f"after {phase}, " + ("at first" if now < until else "then")
        most[name] = max(most.get(name, 0), running)
    for name, number in most.items():
        print(f"{name}: {number} at a time")
    print(f"{sessions} sessions; {over / 1e9:.3f} s with more than {limit}")
    bad = [name for name, number in most.items()
           if number > (limit if name.endswith("then") else 2 * limit)]
    if bad or running != 0:
        sys.exit(f"too many {', '.join(bad)}; {running} are left")


if sys.argv[1] == "serve":
    serve(sys.argv[2], sys.argv[3])
else:
    judge(sys.argv[2], int(sys.argv[3]))
