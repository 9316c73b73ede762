"""The dialogue of the PoolCounter service with its clients, fact by fact.

usage: counter.py ADDRESS FACT

FACT is a function below.  Each uses keys of its own, so that all can be tried
on one daemon.  A fact that holds prints nothing.
"""

import os
import re
import resource
import socket
import struct
import subprocess
import sys
import time

LIMIT = 10 * int(os.environ.get("SLOW", "1"))
ADDRESS = None


def connect(address):
    """A connected socket; the words are pool.conf's."""
    if address.startswith("unix:"):
        s = socket.socket(socket.AF_UNIX)
        s.connect(address[5:])
    else:
        host, _, port = address.rpartition(":")
        s = socket.create_connection((host.strip("[]"), int(port)))
    return s


class Client:
    """A connection that reads by the line and never waits for ever."""

    def __init__(self, address=None):
        self.sock = connect(address or ADDRESS)
        self.sock.settimeout(LIMIT)
        self.input = b""

    def raw(self, data):
        self.sock.sendall(data)

    def say(self, line):
        self.raw(line.encode() + b"\n")

    def line(self):
        """The next line, or None at the end of the stream."""
        while b"\n" not in self.input:
            data = self.sock.recv(65536)
            if not data:
                assert not self.input, self.input
                return None
            self.input += data
        line, self.input = self.input.split(b"\n", 1)
        return line.decode("latin-1")

    def hears(self, *lines):
        for line in lines:
            got = self.line()
            assert got == line, "%r, not %r" % (got, line)

    def ask(self, line, answer):
        self.say(line)
        self.hears(answer)

    def hears_nothing(self):
        """Hears nothing until the service has answered all that was said."""
        barrier()
        self.sock.setblocking(False)
        try:
            data = self.sock.recv(65536)
            raise AssertionError("heard %r" % data)
        except BlockingIOError:
            pass
        self.sock.settimeout(LIMIT)

    def asks_without_reading(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.setblocking(False)
        try:
            for _ in range(100000):
                self.sock.send(b"STATS FULL\n" * 300)
        except BlockingIOError:
            pass

    def hears_the_end(self):
        assert self.line() is None

    def half_close(self):
        self.sock.shutdown(socket.SHUT_WR)

    def close(self):
        self.sock.close()

    def reset(self):
        if self.sock.family != socket.AF_UNIX:
            self.sock.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.sock.close()


def stats(client=None):
    """STATS FULL as the Prometheus exporter reads it."""
    client = client or Client()
    client.say("STATS FULL")
    figures = {}
    while True:
        line = client.line()
        if line == "":
            return figures
        name, value = line.split(": ", 1)
        figures[name] = value


def barrier():
    Client().ask("RELEASE", "NOT_LOCKED")


def await_figure(name, value):
    end = time.monotonic() + LIMIT
    while stats()[name] != str(value):
        assert time.monotonic() < end, (name, value, stats()[name])
        time.sleep(0.005)


# --- 1, 2: lines and words -------------------------------------------------

def replies_end_in_a_bare_lf():
    c = Client()
    c.raw(b"RELEASE\n")
    barrier()
    assert c.sock.recv(100) == b"NOT_LOCKED\n"


# --- 3, 4: input -----------------------------------------------------------

def a_line_of_1024_bytes_works():
    c, d = Client(), Client()
    key = "k" * (1024 - len("ACQ4ME  1 1\n"))
    line = "ACQ4ME %s 1 1" % key
    assert len(line) == 1023
    c.ask(line, "LOCKED")
    d.ask("ACQ4ME %s 1 1" % key, "QUEUE_FULL")
    d.ask("ACQ4ME %s 1 1" % key[:-1], "LOCKED")
    c.raw(b"RELEASE " + key.encode() + b"\r\n")
    c.hears("RELEASED")


def the_tail_of_a_longer_line_is_never_executed():
    for size in (1024, 1025, 1500, 4096, 5000, 100000):
        for cut in (size, 1024, 1000):
            c = Client()
            line = b"x" * (size - len("RELEASE")) + b"RELEASE\n"
            c.raw(line[:cut])
            barrier()
            c.raw(line[cut:] + b"ACQ4ME tail%d 9 9\n" % size)
            first = c.line()
            assert first.startswith("ERROR "), (size, cut, first)
            c.hears("LOCKED")


def split_lines_are_joined():
    c = Client()
    for byte in b"ACQ4ME split 1 1\nRELEASE\n":
        c.raw(bytes([byte]))
        time.sleep(0.001)
    c.hears("LOCKED", "RELEASED")


def pipelined_lines_are_answered_in_order():
    c = Client()
    c.raw(b"ACQ4ME p1 1 1\nACQ4ME p2 1 1\nACQ4ME p3 1 1\nfoo\nRELEASE\n"
          b"RELEASE\nRELEASE\nRELEASE\nACQ4ME p1 1 1\nREL")
    c.hears("LOCKED", "LOCKED", "LOCKED", "ERROR BAD_COMMAND", "RELEASED",
            "RELEASED", "RELEASED", "NOT_LOCKED", "LOCKED")
    c.raw(b"EASE\n")
    c.hears("RELEASED")


def thousands_of_lines_at_once_are_all_answered():
    c = Client()
    n = 5000
    pid = os.fork()
    if pid == 0:
        c.raw(b"ACQ4ME many 1 1\nRELEASE\n" * n)
        os._exit(0)
    for _ in range(n):
        c.hears("LOCKED", "RELEASED")
    os.waitpid(pid, 0)


def an_unended_last_line_is_not_executed():
    c = Client()
    c.raw(b"ACQ4ME unended 1 1\nRELEASE\nACQ4ME unended 1 1")
    c.half_close()
    c.hears("LOCKED", "RELEASED")
    c.hears_the_end()
    Client().ask("ACQ4ME unended 1 1", "LOCKED")


def a_line_just_before_the_end_is_answered():
    c = Client()
    c.raw(b"STATS UPTIME\n")
    c.half_close()
    assert c.line().startswith("uptime: ")
    c.hears_the_end()


# --- 9: the timer ----------------------------------------------------------

def a_timeout_comes_when_it_is_due():
    c, d = Client(), Client()
    c.ask("ACQ4ME due 1 9", "LOCKED")
    for timeout in ("1", "0.25", "0.05"):
        start = time.monotonic()
        d.ask("ACQ4ME due 1 9 " + timeout, "TIMEOUT")
        took = time.monotonic() - start
        late = took - float(timeout)
        assert 0 <= late < LIMIT / 2, (timeout, took)


# --- 10: releasing ---------------------------------------------------------

def a_release_wakes_all_acq4any_and_one_acq4me():
    c = Client()
    c.ask("ACQ4ANY wake 1 99 9", "LOCKED")
    anyone = [Client() for _ in range(5)]
    me = [Client() for _ in range(3)]
    for i in range(5):
        anyone[i].say("ACQ4ANY wake 1 99 9")
        if i < 3:
            me[i].say("ACQ4ME wake 1 99 9")
            barrier()
    barrier()
    c.ask("RELEASE", "RELEASED")
    for a in anyone:
        a.hears("DONE")
        a.ask("RELEASE", "NOT_LOCKED")
    me[0].hears("LOCKED")
    me[1].hears_nothing()
    # The place is never free in between.
    c.ask("ACQ4ME wake 1 99", "TIMEOUT")
    me[0].ask("RELEASE", "RELEASED")
    me[1].hears("LOCKED")
    me[2].hears_nothing()


# --- 11: leaving -----------------------------------------------------------

def each_way_to_leave_frees_the_lock():
    for way in (Client.close, Client.reset, Client.half_close):
        c, d = Client(), Client()
        c.ask("ACQ4ME leave 1 9", "LOCKED")
        d.say("ACQ4ME leave 1 9 9")
        d.hears_nothing()
        way(c)
        d.hears("LOCKED")
        d.close()
        await_figure("hashtable_entries", 0)


def each_way_to_leave_ends_the_wait():
    for way in (Client.close, Client.reset, Client.half_close):
        c, d, e = Client(), Client(), Client()
        c.ask("ACQ4ME leave2 1 9", "LOCKED")
        d.say("ACQ4ME leave2 1 9 9")
        d.hears_nothing()
        e.say("ACQ4ME leave2 1 9 9")
        e.hears_nothing()
        way(d)
        await_figure("waiting_workers", 1)
        c.ask("RELEASE", "RELEASED")
        e.hears("LOCKED")
        e.close()
        await_figure("hashtable_entries", 0)


# --- 13: STATS -------------------------------------------------------------

TIMES = ("total processing time", "average processing time", "gained time",
         "waiting time", "waiting time for me", "waiting time for anyone",
         "waiting time for good", "wasted timeout time")
COUNTERS = ("total_acquired", "total_releases", "hashtable_entries",
            "processing_workers", "waiting_workers", "connect_errors",
            "failed_sends", "full_queues", "lock_mismatch",
            "lock_while_waiting", "release_mismatch", "processed_count")


def stats_full_has_all_lines_in_their_order():
    figures = stats()
    assert tuple(figures) == ("uptime",) + TIMES + COUNTERS, figures
    assert re.fullmatch(r"\d+ days, \d+h \d+m \d+s", figures["uptime"])
    for name in TIMES:
        assert re.fullmatch(r"(\d+ days )?(\d+h )?(\d+m )?\d+\.\d{6}s",
                            figures[name]), figures[name]
    for name in COUNTERS:
        assert figures[name].isdigit()


def stats_of_one_name_is_that_line_alone():
    c = Client()
    for name in COUNTERS:
        c.say("STATS " + name.upper())
        assert re.fullmatch(name + r": \d+", c.line())
    for line in ("STATS", "STATS UPTIME", "STATS uptime", "STATS   UPTIME  "):
        c.say(line)
        assert c.line().startswith("uptime: ")
    for line in ("STATS nothing", "STATS FULL x", "STATS gained time",
                 "STATS UPTIME x"):
        c.ask(line, "ERROR WRONG_STAT")


def stats_counts_every_kind_of_event():
    before = stats()
    c, d, e = Client(), Client(), Client()
    c.ask("ACQ4ANY counted 1 3 9", "LOCKED")
    d.say("ACQ4ANY counted 1 3 9")
    d.hears_nothing()
    e.say("ACQ4ME counted 1 3 9")
    e.hears_nothing()
    assert stats()["waiting_workers"] == "2"
    d.ask("ACQ4ANY counted 1 3 9", "ERROR WAIT_FOR_RESPONSE")
    f = Client()
    f.ask("ACQ4ANY counted 1 3 9", "QUEUE_FULL")
    f.ask("RELEASE", "NOT_LOCKED")
    for n in range(4):
        f.ask("ACQ4ME counted%d 1 3 9" % n, "LOCKED")
    f.ask("ACQ4ANY counted4 1 3 9", "LOCK_HELD")
    time.sleep(0.05)
    c.ask("RELEASE", "RELEASED")
    d.hears("DONE")
    e.hears("LOCKED")
    e.close()
    f.close()
    await_figure("hashtable_entries", 0)
    after = stats()
    more = {name: int(after[name]) - int(before[name]) for name in COUNTERS}
    assert more == {
        "total_acquired": 6, "total_releases": 1, "hashtable_entries": 0,
        "processing_workers": 0, "waiting_workers": 0, "connect_errors": 0,
        "failed_sends": 0, "full_queues": 1, "lock_mismatch": 1,
        "lock_while_waiting": 1, "release_mismatch": 3,
        "processed_count": 6}, more

    def seconds(figures, name):
        return float(figures[name].rpartition(" ")[2][:-1])

    for name in ("total processing time", "gained time", "waiting time",
                 "waiting time for me", "waiting time for good"):
        assert seconds(after, name) - seconds(before, name) > 0.04, name


# --- 14 and the habits of clients ------------------------------------------

def a_client_that_does_not_read_delays_no_other():
    deaf = Client()
    deaf.asks_without_reading()
    took = []
    c = Client()
    for n in range(300):
        start = time.monotonic()
        c.ask("ACQ4ME deaf 1 9", "LOCKED")
        c.ask("RELEASE", "RELEASED")
        took.append(time.monotonic() - start)
    took.sort()
    assert took[150] < 0.2 * LIMIT / 10, took[150]
    # The client that reads nothing would be cut off after ten seconds.
    assert took[-1] < 5, took[-1]


def a_client_that_does_not_read_is_cut_off():
    before = int(stats()["failed_sends"])
    deaf = Client()
    deaf.ask("ACQ4ME deaf2 1 9", "LOCKED")
    deaf.asks_without_reading()
    heir = Client()
    heir.sock.settimeout(5 * LIMIT)
    heir.ask("ACQ4ME deaf2 1 9 %d" % (4 * LIMIT), "LOCKED")
    assert int(stats()["failed_sends"]) == before + 1


def the_requests_of_mediawiki_are_served():
    """A connection for all locks of a request, RELEASE without a key."""
    c, other = Client(), Client()
    c.ask("ACQ4ANY enwiki:pcache:idhash:1-0 2 100 15", "LOCKED")
    c.ask("ACQ4ME nowait:wiki:1.2.3.4 2 2 0", "LOCKED")
    c.ask("RELEASE", "RELEASED")
    # Timeout 0 first, then again with a wait on the same connection.
    other.ask("ACQ4ANY enwiki:pcache:idhash:1-0 1 100 0", "TIMEOUT")
    other.say("ACQ4ANY enwiki:pcache:idhash:1-0 1 100 15")
    other.hears_nothing()
    c.ask("RELEASE", "RELEASED")
    other.hears("DONE")
    c.close()


def the_requests_of_thumbor_are_served():
    """A recv() for each reply, which must be the whole of it."""
    c, d = Client(), Client()
    s = c.sock
    s.sendall(b"ACQ4ME thumbor-render-1 1 2 8\n")
    assert s.recv(4096) == b"LOCKED\n"
    d.say("ACQ4ME thumbor-render-1 1 2 8")
    d.hears_nothing()
    s.sendall(b"RELEASE thumbor-render-1\n")
    assert s.recv(4096) == b"RELEASED\n"
    assert d.sock.recv(4096) == b"LOCKED\n"
    s.sendall(b"STATS FULL\n")
    got = s.recv(65536)
    assert got.startswith(b"uptime: ") and got.endswith(b"\n\n")


def descriptors_sent_to_the_counter_are_dropped():
    c, d = Client(), Client()
    for _ in range(20):
        try:
            socket.send_fds(c.sock, [b"RELEASE\n"], [0, 1, 2])
        except PermissionError:
            # The kernel refuses them for the service.
            c.raw(b"RELEASE\n")
        c.hears("NOT_LOCKED")
    d.ask("RELEASE", "NOT_LOCKED")


# --- many ------------------------------------------------------------------

def five_thousand_connections_with_four_locks_each():
    n = 5000
    resource.setrlimit(resource.RLIMIT_NOFILE, (
        resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    clients = [Client() for _ in range(n)]
    for i, c in enumerate(clients):
        c.raw(b"".join(b"ACQ4ME mass%d.%d 1 5\n" % (i, k) for k in range(4)))
    for c in clients:
        c.hears(*["LOCKED"] * 4)
    figures = stats()
    assert figures["hashtable_entries"] == str(4 * n), figures
    assert figures["processing_workers"] == str(4 * n), figures
    # Half of them vanish, the others release.
    for c in clients[::2]:
        c.reset()
    for c in clients[1::2]:
        c.raw(b"RELEASE\n" * 4)
    for c in clients[1::2]:
        c.hears(*["RELEASED"] * 4)
    await_figure("hashtable_entries", 0)
    await_figure("processing_workers", 0)


def abrupt_ends_of_holders_and_waiters_leave_nothing():
    n = 400
    clients = [Client() for _ in range(n)]
    for i, c in enumerate(clients):
        c.say("ACQ4%s crowd%d 2 1000 60" % (("ME", "ANY")[i // 3 % 2], i % 7))
    barrier()
    assert stats()["processing_workers"] == "14"
    for i in range(n):
        (Client.reset, Client.close)[i % 2](clients[i * 171 % n])
    await_figure("processing_workers", 0)
    await_figure("waiting_workers", 0)
    await_figure("hashtable_entries", 0)


# --- configuration ---------------------------------------------------------

def reload(text):
    """With that in pool.conf."""
    with open(os.environ["CONF"], "w") as f:
        f.write(text)
    subprocess.run([os.environ["APPPOOLCTL"], "-s", os.environ["CONTROL"],
                    "reload"], check=True, stdout=subprocess.DEVNULL)


def a_reload_keeps_every_lock_and_waiter():
    conf = os.environ["CONF"]
    with open(conf) as f:
        before = f.read()
    more = before.replace('"%s"' % ADDRESS, '"unix:%s.more"' % conf)
    assert more != before
    c, d = Client(), Client()
    c.ask("ACQ4ME kept 1 9", "LOCKED")
    d.say("ACQ4ME kept 1 9 60")
    d.hears_nothing()
    reload(more + "counter_max_clients = 12000\n")
    other = Client("unix:%s.more" % conf)
    other.ask("ACQ4ME kept 1 9", "TIMEOUT")
    try:
        Client()
        raise AssertionError("the former address still answers")
    except OSError:
        pass
    c.ask("RELEASE", "RELEASED")
    d.hears("LOCKED")
    reload(before)
    Client().ask("ACQ4ME kept 1 9", "TIMEOUT")
    d.ask("RELEASE", "RELEASED")


def clients_stay_when_the_counter_leaves_the_file():
    c, d = Client(), Client()
    c.ask("ACQ4ME stay 1 9", "LOCKED")
    d.say("ACQ4ME stay 1 9 60")
    d.hears_nothing()
    with open(os.environ["CONF"]) as f:
        rest = [line for line in f if not line.startswith("counter")]
    reload("".join(rest) + 'app "idle" { handoff = "none"\n'
           'command = { "/bin/sleep", "1000" } }\n')
    end = time.monotonic() + LIMIT
    try:
        while time.monotonic() < end:
            Client()
        raise AssertionError("it still listens")
    except OSError:
        pass
    c.ask("RELEASE", "RELEASED")
    d.hears("LOCKED")


def a_client_beyond_max_clients_is_told_so():
    first = [Client() for _ in range(3)]
    for c in first:
        c.ask("RELEASE", "NOT_LOCKED")
    many = Client()
    many.hears("ERROR TOO_MANY_CLIENTS")
    many.hears_the_end()
    first[0].ask("RELEASE", "NOT_LOCKED")
    first[0].close()
    end = time.monotonic() + LIMIT
    while True:
        try:
            c = Client()
            c.say("RELEASE")
            if c.line() == "NOT_LOCKED":
                break
        except OSError:
            pass  # turned away before it sent a line
        assert time.monotonic() < end


if __name__ == "__main__":
    ADDRESS = sys.argv[1]
    globals()[sys.argv[2]]()
