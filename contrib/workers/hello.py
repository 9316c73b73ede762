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
    """A request; http.server reads its head and answers what is wrong."""

    protocol_version = "HTTP/1.1"
    # Seconds in which something must come, or go.
    timeout = 10
    # An answer leaves in one piece.
    wbufsize = -1

    def setup(self):
        super().setup()
        self.unread = True
        self.close_connection = True

    def handle(self):
        """One request, and those that were read together with it."""
        self.handle_one_request()
        while not self.close_connection and apppool.has_input(
                self.connection, self.rfile):
            self.unread = True
            self.handle_one_request()

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
        global served
        served += 1
        keep = worker.keep_alive and not self.close_connection
        page = (
            f"Hello from {worker.app}\nslot {worker.slot}\nid {worker.id}\n"
            f"pid {os.getpid()}\nrequests served {served}\n"
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Connection", "keep-alive" if keep else "close")
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
    try:
        # The address of a Unix client is empty; only the log shows it.
        hello = Hello(connection, connection.getpeername() or ("unix",), None)
        if not hello.close_connection:
            worker.park(connection)
    except OSError:
        # The client has left.
        continue
    except Exception:
        traceback.print_exc()
