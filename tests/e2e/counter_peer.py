"""A random dialogue with two PoolCounter daemons, whose answers must agree.

usage: counter_peer.py SEED STEPS ADDRESS ADDRESS

Lines in which the two differ on purpose are left out: see apppool-counter(7),
"the original".  One line is sent at a time, as the original forgets what follows;
then a question on another connection shows that everything was answered.
"""

import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, __file__.rpartition("/")[0])
import counter  # noqa: E402

CLIENTS = 12
KEYS = {"a": 1, "b": 2, "k" * 150: 3, "c%20d": 1}
COUNTERS = [name for name in counter.COUNTERS
            if name not in ("failed_sends", "waiting_workers")]


class Talk:
    """The connections to one daemon."""

    def __init__(self, address):
        self.address = address
        self.clients = [None] * CLIENTS
        self.judge = counter.connect(address)

    def open(self, n):
        self.clients[n] = counter.connect(self.address)
        self.clients[n].setblocking(False)
        # A line sent after a wait began must not be held back.
        self.clients[n].setsockopt(
            socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self, n, abruptly):
        if abruptly:
            self.clients[n].setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.clients[n].close()
        self.clients[n] = None

    def say(self, n, line):
        self.clients[n].sendall(line)

    def ask_judge(self, line):
        self.judge.sendall(line)
        return self.judge.recv(4096)

    def answers(self):
        """The answers to each client: bytes by number."""
        self.ask_judge(b"STATS UPTIME\n")
        told = {}
        for n, client in enumerate(self.clients):
            if client is None:
                continue
            try:
                told[n] = client.recv(65536)
            except BlockingIOError:
                pass
        return told


class Guest:
    """The state of a client of both daemons."""

    def __init__(self):
        self.locks = []
        self.waits = None


def pick(rng, guests, n):
    """A step that both understand in the same way: its text and its request."""
    guest = guests[n]
    key, workers = rng.choice(sorted(KEYS.items()))
    verb = rng.choice(("ACQ4ME", "ACQ4ANY"))
    roll = rng.random()
    if guest.waits:
        alone = not any(g is not guest and g.waits == ("ACQ4ANY", guest.waits[1])
                        for g in guests if g)
        if roll < 0.5 and alone:
            return b"RELEASE\n", "release"
        if len(guest.locks) == 3:
            return b"nonsense\n", None
        return b"ACQ4ME %s 1 9 9\n" % key.encode(), None
    if roll < 0.04:
        return rng.choice((b"\n", b"nonsense\n", b"release\n", b" RELEASE\n",
                           b"ACQ4MEX a 1 1\n", b"ACQ4ME\n",
                           b"ACQ4ANY\r\n")), None
    if roll < 0.07 and len(guest.locks) < 4:
        return b"%s %s\n" % (verb.encode(), rng.choice(
            (b"k", b"k 1", b"k 0 1", b"k 1 0", b"k x 1", b"k 1 -1"))), None
    if roll < 0.45 and guest.locks:
        return rng.choice((b"RELEASE\n", b"RELEASE\r\n", b"RELEASE %s\n"
                           % guest.locks[-1].encode())), "release"
    if roll < 0.5:
        return b"RELEASE\n", "release"
    timeout = rng.choice(("", " 0", " 500", " 2147483647", " x"))
    maxqueue = rng.choice((1, 2, 4, 9, 2147483647))
    spaces = " " * rng.randint(1, 2)
    line = "%s%s%s %d %d%s%s" % (verb, spaces, key, workers, maxqueue, timeout,
                                 rng.choice(("\n", "\r\n", " and more\n")))
    # A surplus word would be taken for the timeout.
    if timeout == "":
        line = line.replace(" and more", "")
    waits = (verb, key) if len(guest.locks) < 4 else None
    return line.encode(), waits


def listen(talks):
    """The answers of both, which the kernel may hold back for a while."""
    told = [talk.answers() for talk in talks]
    end = time.monotonic() + 10
    while told[0] != told[1] and time.monotonic() < end:
        time.sleep(0.005)
        for before, talk in zip(told, talks):
            for n, data in talk.answers().items():
                before[n] = before.get(n, b"") + data
    return told


def hear(guests, told, n, asked):
    """Applies the answers to the states of the clients."""
    answered = False
    for m, data in told.items():
        guest = guests[m]
        for line in data.decode().splitlines():
            if m == n and not (guest.waits and line in ("LOCKED", "DONE")):
                answered = True
            if line == "LOCKED":
                if guest.waits:
                    guest.locks.append(guest.waits[1])
                    guest.waits = None
                else:
                    guest.locks.append(asked[1])
            elif line in ("DONE", "TIMEOUT") and guest.waits:
                guest.waits = None
            elif line == "RELEASED":
                if guest.waits:
                    guest.waits = None
                else:
                    guest.locks.pop()
    if isinstance(asked, tuple) and not answered:
        guests[n].waits = asked


def main():
    # Packets sent on one processor arrive in the order of sending, also on
    # different connections: when the judge is answered, all are.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    seed, steps = int(sys.argv[1]), int(sys.argv[2])
    rng = random.Random(seed)
    talks = [Talk(address) for address in sys.argv[3:5]]
    guests = [None] * CLIENTS
    said = []
    for step in range(steps):
        n = rng.randrange(CLIENTS)
        asked = None
        if guests[n] is None:
            for talk in talks:
                talk.open(n)
            guests[n] = Guest()
            said.append((n, "opens"))
        elif rng.random() < 0.03:
            abruptly = rng.random() < 0.5
            for talk in talks:
                talk.close(n, abruptly)
            guests[n] = None
            said.append((n, "leaves"))
        else:
            line, asked = pick(rng, guests, n)
            for talk in talks:
                talk.say(n, line)
            said.append((n, line))
        told = listen(talks)
        if told[0] != told[1]:
            sys.exit("seed %d, step %d: %r\n%r\n%r" % (
                seed, step, said[-8:], told[0], told[1]))
        hear(guests, told[0], n, asked)
    for name in COUNTERS:
        figures = [t.ask_judge(b"STATS %s\n" % name.encode()) for t in talks]
        if figures[0] != figures[1]:
            sys.exit("seed %d: %r, %r" % (seed, *figures))


if __name__ == "__main__":
    main()
