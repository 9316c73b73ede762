#!/usr/bin/python3
"""A sample worker: answers HTTP requests with a page about itself."""

import os

import apppool
import apppool_http

BODY_MAX = 1 << 20

worker = apppool.Worker()
served = 0


def serve_one(client):
    """A request; whether another one may follow on the connection."""
    global served
    request = apppool_http.read_request(client)
    if request.length > BODY_MAX:
        raise apppool_http.Refusal(413)
    if request.method not in ("GET", "HEAD", "POST"):
        raise apppool_http.Refusal(405)
    if request.expects_continue() and request.length > 0:
        client.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        client.flush()
    left = request.length
    while left > 0:
        left -= len(client.read(left))
    served += 1
    page = (
        f"Hello from {worker.app}\nslot {worker.slot}\nid {worker.id}\n"
        f"pid {os.getpid()}\nrequests served {served}\n"
    ).encode()
    keep = worker.keep_alive and request.keeps_alive()
    client.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(page)}\r\n"
        f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n".encode())
    client.write(b"" if request.method == "HEAD" else page)
    client.flush()
    return keep


def serve(connection):
    """Whether the connection may be parked."""
    client = apppool.Client(connection)
    try:
        while serve_one(client):
            if not apppool_http.has_request(client):
                return True
    except apppool_http.Refusal as refusal:
        apppool_http.refuse(client, refusal.args[0])
    return False


worker.ready()
for connection in worker.connections():
    try:
        if serve(connection):
            worker.park(connection)
    except OSError:
        # The client has left.
        continue
