#!/usr/bin/python3
"""A native worker that answers FastCGI, as strictly as a program may.

The path says how: /NNN with that status, /exit/N with that exit status, /stderr
with a complaint, /silent not at all, /cut without an end.
"""

import os
import socket
import struct
import sys
import time


def read(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            sys.exit("the request is cut off")
        data += more
    return data


def record(connection):
    version, kind, request, length, padding = struct.unpack(
        ">BBHHBx", read(connection, 8))
    content = read(connection, length)
    read(connection, padding)
    if (version, request) != (1, 1):
        sys.exit("a wrong record")
    return kind, content


def number(data):
    if data[0] < 128:
        return data[0], data[1:]
    return struct.unpack(">I", data[:4])[0] & 0x7fffffff, data[4:]


def params(data):
    found = {}
    while data:
        name, data = number(data)
        value, data = number(data)
        found[data[:name].decode()] = data[name:name + value].decode()
        data = data[name + value:]
    return found


def request(connection):
    """The parameters of a request that keeps to the specification."""
    begin = record(connection)
    if begin != (1, struct.pack(">HB5x", 1, 0)):
        sys.exit("no responder is asked for: %r" % (begin,))
    streams = {4: b"", 5: b""}
    for kind in 4, 5:
        while True:
            got, content = record(connection)
            if got != kind:
                sys.exit("record %d in the place of %d" % (got, kind))
            if not content:
                break
            streams[kind] += content
    return params(streams[4])


def say(connection, kind, content, padding=0):
    connection.sendall(struct.pack(
        ">BBHHBx", 1, kind, 1, len(content), padding)
        + content + b"\0" * padding)


def serve(connection):
    asked = request(connection)
    words = asked["REQUEST_URI"].strip("/").split("/")
    status, exit_status = "200 OK", 0
    if words[0] == "silent":
        time.sleep(3600)
    if words[0].isdigit():
        status = words[0] + " As asked"
    if words[0] == "exit":
        exit_status = int(words[1])
    if words[0] == "stderr":
        say(connection, 7, b"something is\nwrong", 3)
    head = "Status: %s\r\nContent-Type: text/plain\r\n\r\n" % status
    for byte in head.encode():
        say(connection, 6, bytes([byte]), 7)
    say(connection, 6, b"x" * 20000)
    if words[0] == "cut":
        return
    say(connection, 6, b"")
    say(connection, 3, struct.pack(">IB3x", exit_status, 0))


def main():
    daemon = socket.socket(fileno=int(os.environ["APPPOOL_FD"]))
    daemon.send(b"READY")
    while True:
        message, fds, _, _ = socket.recv_fds(daemon, 4096, 1)
        words = message.split()
        if not words or words[0] == b"STOP":
            break
        with socket.socket(fileno=fds[0]) as connection:
            serve(connection)
        daemon.send(b"DONE " + words[1])


main()
