"""A worker to be forked: says what it is, and a random number."""

import json
import os
import random
import sys

sys.path.insert(0, "contrib/workers")
import apppool  # noqa: E402

forks = 0
child = None


def count():
    global forks, child
    forks += 1
    if "CHILD" in os.environ:
        child = os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "60")


worker = apppool.Worker()
sys.stdout.write("loaded\n")
sys.stdout.flush()
for number in os.environ.pop("CLOSE", "").split():
    os.close(int(number))
if os.environ.pop("CLOSE_STDERR", ""):
    sys.stderr.close()
worker.template(count)
print("begun", flush=True)
worker.ready()
for connection in worker.connections():
    said = {
        "pid": os.getpid(),
        "app": worker.app,
        "id": worker.id,
        "slot": worker.slot,
        "random": random.random(),
        "forks": forks,
        "child": child,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "environment": [name for name in os.environ if "APPPOOL_" in name],
    }
    connection.sendall(json.dumps(said).encode())
