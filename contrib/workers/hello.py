#!/usr/bin/python3
"""A sample worker: answers HTTP requests with a page about itself."""

import http.server
import os
import re
import traceback

import apppool

BODY_MAX = 1 << 20

worker = apppool.Worker()
served = 0


class Hello(http.server.BaseHTTPRequestHandler):
    """One request; http.server reads its head and answers what is wrong."""

    # Seconds in which something must come.
    timeout = 10

    def setup(self):
        super().setup()
        self.unread = True

    def do_GET(self):
        if "Transfer-Encoding" in self.headers:
            return self.send_error(411)
        length = self.headers.get("Content-Length", "0")
        if not re.fullmatch("[0-9]{1,18}", length):
            return self.send_error(400)
        if int(length) > BODY_MAX:
            return self.send_error(413)
        self.rfile.read(int(length))
        self.unread = False
        self.send_page()

    do_HEAD = do_GET
    do_POST = do_GET

    def send_page(self):
        page = (
            f"Hello from {worker.app}\nslot {worker.slot}\nid {worker.id}\n"
            f"pid {os.getpid()}\nrequests served {served}\n"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    def finish(self):
        super().finish()
        if self.unread:
            apppool.linger(self.connection)

    def log_request(self, code="-", size="-"):
        """Says nothing of ordinary requests."""


worker.ready()
for connection in worker.connections():
    served += 1
    try:
        # The address of a Unix client is empty; only the log shows it.
        Hello(connection, connection.getpeername() or ("unix",), None)
    except OSError:
        # The client has left.
        continue
    except Exception:
        traceback.print_exc()
