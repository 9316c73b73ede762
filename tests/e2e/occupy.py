"""Clients that say nothing yet, so that each keeps a process busy.

usage: occupy.py SOCKET COUNT

Clients connect one after the other; then "connected" is printed.  On SIGUSR1 all
speak, and the answers are printed in the order of their connections; a client
without an answer is a line "lost".
"""

import signal
import socket
import sys


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def told(client):
    try:
        line = client.makefile().readline()
    except ConnectionError:
        line = ""
    return line.strip() or "lost"


def speak(client):
    try:
        client.sendall(b"hello\n")
    except (BrokenPipeError, ConnectionResetError):
        pass


signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
clients = [connect(sys.argv[1]) for _ in range(int(sys.argv[2]))]
print("connected", flush=True)
signal.sigwait([signal.SIGUSR1])
for client in clients:
    speak(client)
for client in clients:
    print(told(client))
