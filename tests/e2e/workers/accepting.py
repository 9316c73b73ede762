"""A server that knows nothing of the daemon, for tests of more than accept().

usage: accepting.py [--edge] [--room BYTES] [--other PATH]
       [--set NODELAY KEEPALIVE KEEPIDLE]

It accepts on descriptor 0. A request is a line; the answer is what
getsockname() says of the listening socket and of the connection, the address
of the client, how long accept() says that is, and how much of it was written.

    --edge    wait with an edge-triggered epoll, as Go does
    --room    so much room for the address, until accept() does not like it
    --other   serve that socket, too, in the same thread
    --set     give descriptor 0 these options of TCP

Of a connection of TCP three words more are these options.
"""

import argparse
import ctypes
import errno
import os
import select
import socket

libc = ctypes.CDLL(None, use_errno=True)

OPTIONS = ((socket.IPPROTO_TCP, socket.TCP_NODELAY),
           (socket.SOL_SOCKET, socket.SO_KEEPALIVE),
           (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE))


def address(name):
    """A word: PATH, @ABSTRACT, HOST:PORT, or - where there is none."""
    if isinstance(name, tuple):
        return f"[{name[0]}]:{name[1]}" if ":" in name[0] else \
            f"{name[0]}:{name[1]}"
    if isinstance(name, bytes):
        name = "@" + name[1:].decode()
    return name or "-"


def accept(listener, room):
    """The connection and the address of its client, or an error."""
    buf = ctypes.create_string_buffer(b"\xff" * 128, 128)
    size = ctypes.c_int(room)
    fd = libc.accept(listener.fileno(), buf, ctypes.byref(size))
    if fd == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return socket.socket(fileno=fd), size.value, buf.raw


def serve(listener, room):
    connection, size, raw = accept(listener, room)
    untouched = len(raw) - len(raw.rstrip(b"\xff"))
    try:
        connection.recv(999)
        words = [address(listener.getsockname()),
                 address(connection.getsockname()),
                 address(connection.getpeername()), str(size),
                 str(len(raw) - untouched)]
        if connection.family != socket.AF_UNIX:
            words += [str(connection.getsockopt(*which)) for which in OPTIONS]
        connection.sendall((" ".join(words) + "\n").encode())
    except OSError:
        pass  # the client has left
    connection.close()


def serve_blocking(listener, room):
    while True:
        try:
            serve(listener, room)
        except OSError as why:
            print("accept:", why.strerror, flush=True)
            room = 128


def serve_edges(listener):
    listener.setblocking(False)
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN | select.EPOLLET)
    while True:
        poll.poll()
        try:
            while True:
                serve(listener, 128)
        except OSError as why:
            if why.errno != errno.EAGAIN:
                raise


def serve_both(listener, path):
    other = socket.socket(socket.AF_UNIX)
    other.bind(path)
    os.chmod(path, 0o666)
    other.listen()
    for each in listener, other:
        each.setblocking(False)
    while True:
        for each in select.select([listener, other], [], [])[0]:
            try:
                serve(each, 128)
            except BlockingIOError:
                pass


parser = argparse.ArgumentParser()
parser.add_argument("--edge", action="store_true")
parser.add_argument("--room", type=int, default=128)
parser.add_argument("--other")
parser.add_argument("--set", nargs=3, type=int)
args = parser.parse_args()
server = socket.socket(fileno=0)
server.setblocking(os.get_blocking(0))
for which, value in zip(OPTIONS, args.set or ()):
    server.setsockopt(*which, value)
if args.edge:
    serve_edges(server)
elif args.other:
    serve_both(server, args.other)
else:
    serve_blocking(server, args.room)
