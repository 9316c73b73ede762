"""A server that listens on an address of its own.

usage: stray.py [--both] PORT

It answers "PID stray" there.  With --both it also accepts from descriptor 3, and answers "PID given" there.
"""

import argparse
import os
import selectors
import socket

parser = argparse.ArgumentParser()
parser.add_argument("--both", action="store_true")
parser.add_argument("port", type=int)
args = parser.parse_args()
loop = selectors.DefaultSelector()
loop.register(socket.create_server(("", args.port)), selectors.EVENT_READ,
              "stray")
if args.both:
    loop.register(socket.socket(fileno=3), selectors.EVENT_READ, "given")
while True:
    for key, _ in loop.select():
        connection, _ = key.fileobj.accept()
        connection.sendall(f"{os.getpid()} {key.data}\n".encode())
        connection.close()
