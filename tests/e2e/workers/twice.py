"""A worker that says PARK of each connection twice; beside apppool.py."""

import os

import apppool

worker = apppool.Worker()
worker.ready()
for connection in worker.connections():
    connection.sendall(b"%d " % os.getpid() + connection.recv(512))
    parked = worker._serial
    worker.park(connection)
    worker._say("PARK", parked)
