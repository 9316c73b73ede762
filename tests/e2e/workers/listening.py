"""A server with an event loop that knows nothing of a pool.

usage: listening.py [--graceful] [--zero] [--start SECONDS]

It accepts from the sockets that LISTEN_FDS tells of; with --zero from
descriptor 0 alone, in the blocking manner. A request is a line, the answer is
"PID LINE", and then the connection is closed. Some are obeyed first:

    burn            uses a processor until the client leaves
    delegate        a child does so
    leave           exits with status 0
    keep            the connection stays open
    child           so does it, in the hands of a child alone
    environment     says what it was given
    shutdown        shuts the first socket down

SIGTERM ends it at once; with --graceful when it has served what it holds,
and it closes its sockets at once.
"""

import argparse
import os
import selectors
import signal
import socket
import subprocess
import time

LISTEN_FDS_START = 3


def burn(connection):
    connection.setblocking(False)
    while True:
        try:
            if not connection.recv(65536):
                return
        except BlockingIOError:
            pass


def environment():
    mine = os.environ.get("LISTEN_PID") == str(os.getpid())
    return "{} {} {}".format(os.environ.get("LISTEN_FDS"),
                             os.environ.get("LISTEN_FDNAMES"),
                             "mine" if mine else "not mine")


def give_to_child(connection):
    subprocess.Popen(["cat"], stdin=connection.fileno(),
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def delegate(connection, listeners):
    if os.fork() == 0:
        for listener in listeners:
            listener.close()
        burn(connection)
        os._exit(0)


def obey(line, connection, listeners):
    """Returns the answer, and whether the connection stays open."""
    if line == "burn":
        burn(connection)
    elif line == "leave":
        connection.sendall(b"left\n")
        os._exit(0)
    elif line == "delegate":
        delegate(connection, listeners)
    elif line == "environment":
        return environment(), False
    elif line == "shutdown":
        listeners[0].shutdown(socket.SHUT_RDWR)
    elif line == "child":
        give_to_child(connection)
    return line, line == "keep"


def serve_one(connection, listeners):
    """Serves a request; false: the connection is closed."""
    try:
        got = connection.recv(65536)
        if not got:
            return False
        text, keep = obey(got.decode().strip(), connection, listeners)
        connection.sendall(f"{os.getpid()} {text}\n".encode())
        return keep
    except OSError:
        return False


class Loop:
    def __init__(self, listeners):
        self.listeners = listeners
        self.selector = selectors.DefaultSelector()
        self.open = 0
        self.leaving = False
        for listener in listeners:
            listener.setblocking(False)
            self.selector.register(listener, selectors.EVENT_READ, "listener")

    def leave(self, *_):
        if self.leaving:
            return
        self.leaving = True
        for listener in self.listeners:
            self.selector.unregister(listener)
            listener.close()

    def accept(self, listener):
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.setblocking(True)
        self.selector.register(connection, selectors.EVENT_READ, "connection")
        self.open += 1

    def turn(self, timeout):
        for key, _ in self.selector.select(timeout):
            if key.data == "listener":
                if not self.leaving:
                    self.accept(key.fileobj)
            elif not serve_one(key.fileobj, self.listeners):
                self.selector.unregister(key.fileobj)
                key.fileobj.close()
                self.open -= 1

    def run(self):
        while not self.leaving or self.open > 0:
            self.turn(0.1)


def serve_zero():
    listener = socket.socket(fileno=0)
    listener.setblocking(os.get_blocking(0))
    while True:
        connection, _ = listener.accept()
        while serve_one(connection, [listener]):
            pass
        connection.close()


parser = argparse.ArgumentParser()
parser.add_argument("--graceful", action="store_true")
parser.add_argument("--zero", action="store_true")
parser.add_argument("--start", type=float, default=0)
args = parser.parse_args()
time.sleep(args.start)
if args.zero:
    serve_zero()
count = int(os.environ["LISTEN_FDS"])
loop = Loop([socket.socket(fileno=fd) for fd in
             range(LISTEN_FDS_START, LISTEN_FDS_START + count)])
if args.graceful:
    signal.signal(signal.SIGTERM, loop.leave)
loop.run()
