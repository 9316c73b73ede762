#!/usr/bin/python3
"""A sample worker: a page that is dear to compute, cached by all of them.

    stampede.py FOLDER SECONDS [nolock]

The page is computed in SECONDS, kept in FOLDER/page and served from there
while it exists.  Remove it and ask many times at once: without a lock each
process finds it gone and computes it (a stampede); with one, the first of
them does and the others wait for the result.  Each computation adds a byte
to FOLDER/computed.

    app "page" {
        listen = "127.0.0.1:8080"
        command = { "stampede.py", "/var/cache/page", "2" }
        max_processes = 16
    }
    counter = "127.0.0.1:7531"
"""

import os
import sys
import time

import apppool

FOLDER, SECONDS = sys.argv[1], float(sys.argv[2])
LOCKED = sys.argv[3:] != ["nolock"]
KEY = "stampede:page"


def cached():
    try:
        with open(os.path.join(FOLDER, "page")) as f:
            return f.read()
    except FileNotFoundError:
        return None


def compute():
    with open(os.path.join(FOLDER, "computed"), "a") as f:
        f.write(".")
    time.sleep(SECONDS)
    page = f"computed by {worker.id} at {time.time():.0f}\n"
    aside = os.path.join(FOLDER, f"page.{worker.id}")
    with open(aside, "w") as f:
        f.write(page)
    os.rename(aside, os.path.join(FOLDER, "page"))
    return page


def page_with_lock():
    """The page; None: too many want it."""
    try:
        with apppool.Counter() as counter:
            word = counter.lock(KEY, workers=1, maxqueue=100,
                                timeout=SECONDS * 3 + 5, anyone=True)
            if word == "LOCKED":
                # Somebody may have been faster than our look at the cache.
                return cached() or compute()
            return cached()
    except OSError as error:
        # A service that is not there is no reason not to serve.
        worker.event(f"no lock: {error}")
        return compute()


def serve(connection):
    connection.settimeout(10)
    connection.recv(8192)
    page = cached()
    if page is None:
        page = page_with_lock() if LOCKED else compute()
    status = "200 OK" if page else "503 Service Unavailable"
    page = page or "try again\n"
    connection.sendall(
        f"HTTP/1.0 {status}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(page)}\r\n\r\n{page}".encode())


worker = apppool.Worker()
worker.ready()
for client in worker.connections():
    try:
        serve(client)
        apppool.linger(client)
    except OSError as error:
        worker.event(f"client: {error}")
