#!/usr/bin/python3
"""Serves a WSGI application (PEP 3333) as a worker: wsgi.py MODULE:APP

The module is looked for in the current directory first.  One request a
connection, one at a time; how many there are of us is the daemon's business.
"""

import http.server
import importlib
import io
import os
import re
import sys
import traceback
import urllib.parse
import wsgiref.handlers

import apppool

LENGTH = re.compile("[0-9]{1,18}")
TARGET = re.compile(r"/|\*$|https?://")


class Body(io.RawIOBase):
    """The request's body: ends where Content-Length says."""

    def __init__(self, handler, length):
        self._handler = handler
        self.left = length

    def readable(self):
        return True

    def readinto(self, buffer):
        if self.left == 0:
            return 0
        self._handler.send_continue()
        data = self._handler.rfile.read1(min(len(buffer), self.left))
        if not data:
            raise ConnectionResetError("the client left in its request")
        buffer[: len(data)] = data
        self.left -= len(data)
        return len(data)


class Response(wsgiref.handlers.SimpleHandler):
    """Runs the application and sends what it says."""

    http_version = "1.1"
    server_software = "apppool-wsgi"
    # Not those of the process: a client's headers are in the same place.
    os_environ = {}

    def cleanup_headers(self):
        if not self.is_bare():
            super().cleanup_headers()
        self.headers["Connection"] = "close"

    def is_bare(self):
        """Whether there is no body, whatever the application says."""
        if self.environ["REQUEST_METHOD"] == "HEAD":
            return True
        return self.status[:3] in ("204", "304")

    def write(self, data):
        if not self.is_bare():
            super().write(data)
        elif not self.headers_sent:
            self.send_headers()

    def finish_content(self):
        if not self.is_bare():
            super().finish_content()
        elif not self.headers_sent:
            self.send_headers()


class Request(http.server.BaseHTTPRequestHandler):
    """Reads one request and makes the environment of PEP 3333 from it."""

    protocol_version = "HTTP/1.1"
    server_version = Response.server_software
    # Seconds in which something must come, or go.
    timeout = 60
    # A response leaves in few pieces.
    wbufsize = -1
    application = None

    def setup(self):
        super().setup()
        self.body = None
        self.awaits_continue = False

    def handle(self):
        self.raw_requestline = self.rfile.readline(65537)
        if len(self.raw_requestline) > 65536:
            self.requestline = self.request_version = self.command = ""
            self.send_error(414)
        elif self.raw_requestline and self.parse_request():
            self.handle_parsed()

    def handle_parsed(self):
        if not TARGET.match(self.path):
            self.send_error(400)
            return
        length = self.body_length()
        if length is None:
            return
        self.body = Body(self, length)
        response = Response(
            io.BufferedReader(self.body),
            self.wfile,
            sys.stderr,
            self.environment(length),
            multithread=False,
            multiprocess=True,
        )
        response.run(self.application)

    def body_length(self):
        """The length of the body, or None if the request was refused."""
        lengths = set(self.headers.get_all("Content-Length", []))
        if "Transfer-Encoding" in self.headers:
            # Both: a front end and we might disagree where the body ends.
            self.send_error(400 if lengths else 411)
            return None
        if not lengths:
            return 0
        length = lengths.pop()
        if lengths or not LENGTH.fullmatch(length):
            self.send_error(400)
            return None
        return int(length)

    def environment(self, length):
        path, _, query = self.path.partition("?")
        host, port = self.address_of(self.connection.getsockname())
        env = {
            "REQUEST_METHOD": self.command,
            "SCRIPT_NAME": "",
            "QUERY_STRING": query,
            "SERVER_NAME": host or "localhost",
            "SERVER_PORT": port or "80",
            "SERVER_PROTOCOL": self.request_version,
            "REMOTE_ADDR": self.client_address[0],
            "REMOTE_PORT": self.client_address[1],
        }
        for name, value in self.headers.items():
            # X_Y would be mistaken for X-Y, which a front end may have set.
            if "_" not in name:
                key = "HTTP_" + name.upper().replace("-", "_")
                value = value.strip()
                env[key] = f"{env[key]},{value}" if key in env else value
        env.pop("HTTP_CONTENT_LENGTH", None)
        if "Content-Length" in self.headers:
            env["CONTENT_LENGTH"] = str(length)
        if "HTTP_CONTENT_TYPE" in env:
            env["CONTENT_TYPE"] = env.pop("HTTP_CONTENT_TYPE")
        if path.startswith(("http://", "https://")):
            # An absolute target takes precedence over Host, RFC 9112 3.2.2.
            env["HTTP_HOST"], slash, path = path.split("//")[1].partition("/")
            path = slash + path
        if path == "*":
            path = ""
        env["PATH_INFO"] = urllib.parse.unquote(path, "iso-8859-1")
        return env

    @staticmethod
    def address_of(name):
        """Host and port as text; both empty for a Unix socket."""
        return (name[0], str(name[1])) if isinstance(name, tuple) else ("", "")

    def handle_expect_100(self):
        # Not yet: only if the application reads the body.
        self.awaits_continue = True
        return True

    def send_continue(self):
        if self.awaits_continue:
            self.awaits_continue = False
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()

    def finish(self):
        super().finish()
        if self.body is None or self.body.left > 0:
            apppool.linger(self.connection)

    def log_request(self, code="-", size="-"):
        """Says nothing of ordinary requests."""


def load(name):
    """The application that MODULE:APP names."""
    module, _, attribute = name.partition(":")
    sys.path.insert(0, os.getcwd())
    found = importlib.import_module(module)
    for part in (attribute or "application").split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is not callable")
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: wsgi.py MODULE:APP")
    worker = apppool.Worker()
    try:
        Request.application = staticmethod(load(sys.argv[1]))
    except Exception as problem:
        traceback.print_exc()
        worker.fail(f"{sys.argv[1]}: {type(problem).__name__}: {problem}")
        sys.exit(1)
    worker.ready()
    for connection in worker.connections():
        try:
            client = Request.address_of(connection.getpeername())
            Request(connection, client, None)
        except OSError:
            # The client has left.
            continue
        except Exception:
            traceback.print_exc()


if __name__ == "__main__":
    main()
