"""Parks the connection that came before its own; beside apppool.py."""

import apppool

worker = apppool.Worker()
worker.ready()
for connection in worker.connections():
    serial = int(worker._serial)
    worker._say("PARK", str(((serial >> 24) - 1 << 24) + (serial & 0xFFFFFF) - 1))
