#!/usr/bin/python3
"""A template, or a worker, without any library.

The first argument says what the first template does; the second is a file that
it makes, beside which all later templates are good; the third may be a number
that it names, or how a worker answers that is to fork a template.
"""

import fcntl
import os
import socket
import sys
import termios
import time

BEHAVIOUR, MARK = sys.argv[1:3]
IS_TEMPLATE = os.environ.get("APPPOOL_TEMPLATE") == "1"
daemon = socket.socket(fileno=int(os.environ["APPPOOL_FD"]))
leaked = []


def serve(channel):
    """Answers each connection with our number and our session's."""
    channel.send(b"READY")
    late = []
    while True:
        words, fds = receive(channel)
        if words[0] == b"FORK":
            late.append(refuse_to_fork(channel, words, fds))
            continue
        if words[0] != b"CONN":
            os._exit(0)
        while late:
            channel.send(late.pop())
        with socket.socket(fileno=fds[0]) as connection:
            text = f"{os.getpid()} {os.getsid(0)}\n"
            connection.sendall(text.encode())
        channel.send(b"DONE " + words[1])


def refuse_to_fork(channel, words, fds):
    """Returns what is to be said later."""
    leaked.extend(fds)
    if sys.argv[3] == "late":
        return b"FORKED %s 1" % words[1]
    channel.send(b"FORKED %s 0" % words[1])
    return b"EVENT refused"


def receive(channel):
    message, fds, flags, _ = socket.recv_fds(channel, 4096, 3)
    if flags & socket.MSG_CTRUNC:
        channel.send(b"FAIL too many descriptors")
        os._exit(1)
    return message.split() or [b"STOP"], fds


def fork_worker(fds, wait=True, before=lambda: None):
    """As apppool-worker(7) says; returns its number."""
    told, tell = os.pipe()
    middle = os.fork()
    if middle == 0:
        worker = os.fork()
        if worker == 0:
            os.setpgid(0, 0)
            os.dup2(fds[1], 1)
            os.dup2(fds[2], 2)
            before()
            serve(socket.socket(fileno=fds[0]))
        os.write(tell, b"%d" % worker)
        if not wait:
            time.sleep(0.3)
        os._exit(0)
    worker = os.read(told, 16)
    os.close(told)
    os.close(tell)
    if wait:
        os.waitpid(middle, 0)
    return worker


def forked(words, pid):
    daemon.send(b"FORKED %s %s" % (words[1], pid))


def good(words, fds):
    forked(words, fork_worker(fds))
    for fd in fds:
        os.close(fd)


def dies(words, fds):
    fork_worker(fds, before=lambda: time.sleep(0.2))
    os.kill(os.getpid(), 9)


def exits(words, fds):
    os._exit(0)


def fails(words, fds):
    daemon.send(b"FAIL it is tired")


def hangs(words, fds):
    time.sleep(60)


def names_a_stranger(words, fds):
    forked(words, sys.argv[3].encode())


def names_itself(words, fds):
    forked(words, b"%d" % os.getpid())


def names_another(words, fds):
    forked(words, fork_worker(fds) + b"1")


def talks(words, fds):
    daemon.send(b"HELLO")


def forks_what_dies(words, fds):
    forked(words, fork_worker(fds, before=lambda: os._exit(3)))


def forks_what_hangs(words, fds):
    forked(words, fork_worker(fds, before=lambda: time.sleep(60)))


def forks_what_hangs_and_is_heard(words, fds):
    forks_what_hangs(words, fds)
    while any(fcntl.ioctl(daemon, termios.TIOCOUTQ, bytes(4))):
        os.sched_yield()
    os.mkdir(f"{MARK}/heard")


def leave_a_child():
    """In the group of the worker, which dies unheard."""
    child = os.fork()
    if child == 0:
        time.sleep(60)
    with open(f"{MARK}.children", "a", encoding="ascii") as file:
        file.write(f"{child}\n")
    os._exit(3)


def forks_what_leaves_a_child(words, fds):
    forked(words, fork_worker(
        fds, before=lambda: (time.sleep(0.2), leave_a_child())))


def forks_what_leaves_a_child_soon(words, fds):
    worker = fork_worker(fds, before=leave_a_child)
    time.sleep(0.2)
    forked(words, worker)


def leaks(words, fds):
    forked(words, fork_worker(fds))
    leaked.extend(fds)


def hurries(words, fds):
    forked(words, fork_worker(fds, wait=False))


def names_whom_a_file_names(words, fds):
    with open(sys.argv[3], "rb") as file:
        forked(words, file.read().strip())


def is_ready_twice(words, fds):
    daemon.send(b"READY")


def answers_twice(words, fds):
    pid = fork_worker(fds)
    forked(words, pid)
    forked(words, pid)


def answers_what_was_not_asked(words, fds):
    daemon.send(b"FORKED 99 1")


def stammers(words, fds):
    daemon.send(b"FORKED %s -1" % words[1])


def sends_a_descriptor(words, fds):
    socket.send_fds(daemon, [b"FORKED %s 1" % words[1]], [0])


def shuts_its_socket(words, fds):
    daemon.shutdown(socket.SHUT_RDWR)
    time.sleep(60)


def forks_once(words, fds):
    """The worker is a child of ours."""
    pid = os.fork()
    if pid == 0:
        serve(socket.socket(fileno=fds[0]))
    forked(words, b"%d" % pid)


def has_a_child_speak(words, fds):
    """The one that says READY is a child of the one that is named."""
    def fork():
        if os.fork() > 0:
            time.sleep(60)

    forked(words, fork_worker(fds, before=fork))


def keeps_its_workers(words, fds):
    """Workers stay in our group."""
    forked(words, fork_worker(fds, before=lambda: os.setpgid(0, GROUP)))
    for fd in fds:
        os.close(fd)


def speaks_for_its_worker(words, fds):
    """The worker is silent until its socket is shut."""
    channel = socket.socket(fileno=fds[0])
    forked(words, fork_worker(
        fds, before=lambda: channel.recv(1, socket.MSG_PEEK)))
    channel.send(b"READY")


def does_not_stop(words, fds):
    good(words, fds)
    while True:
        order, descriptors = receive(daemon)
        if order[0] == b"FORK":
            good(order, descriptors)
        else:
            time.sleep(60)


GROUP = os.getpgid(0)
if not IS_TEMPLATE:
    serve(daemon)
behave = good
try:
    os.mkdir(MARK)
    behave = globals()[BEHAVIOUR]
except FileExistsError:
    pass
daemon.send(b"READY")
while True:
    order, descriptors = receive(daemon)
    if order[0] != b"FORK":
        sys.exit(0)
    behave(order, descriptors)
