"""The worker protocol of apppoold in plain Python, see apppool-worker(7).

    worker = apppool.Worker()
    worker.ready()
    for connection in worker.connections():
        serve(connection)

The loop ends when the daemon asks the process to stop, or is gone.

A program that takes long to load calls worker.template() before ready(): with
template = true in its app it is then loaded once, and forked.

With load_report = true in its app, `worker.load` is how busy the app was when the
connection in hand was given: 1.0 where all processes were, more where connections
waited; else None.

Where `worker.keep_alive` is true, a connection whose client may go on to use it
is left to the daemon by worker.park(connection), in the place of its end.

With slow_signal in its app a process prints the stacks of its threads on standard
error when a session is slow, and goes on.
"""

import contextlib
import faulthandler
import fcntl
import gc
import hashlib
import os
import signal
import socket
import sys
import time

MESSAGE_MAX = 4096


class Worker:
    """This process, as the daemon sees it."""

    def __init__(self):
        if os.environ.get("APPPOOL_PROTOCOL") != "1":
            raise SystemExit("to be started by apppoold (protocol 1)")
        # Made not inheritable, like all descriptors in Python.
        self._socket = socket.socket(fileno=int(os.environ["APPPOOL_FD"]))
        self._socket.set_inheritable(False)
        self.app = os.environ["APPPOOL_APP"]
        self.id = os.environ["APPPOOL_ID"]
        self._is_template = os.environ.get("APPPOOL_TEMPLATE") == "1"
        self._after_fork = None
        # A template is in the place of no worker.
        self.slot = None
        if not self._is_template:
            self.slot = int(os.environ["APPPOOL_SLOT"])
        for name in ("PROTOCOL", "FD", "APP", "ID", "SLOT", "TEMPLATE"):
            # Programs started from here must not take it for theirs.
            os.environ.pop("APPPOOL_" + name, None)
        self.keep_alive = os.environ.pop("APPPOOL_KEEP_ALIVE", "") == "1"
        slow_signal = os.environ.pop("APPPOOL_SLOW_SIGNAL", None)
        if slow_signal:
            # Prints where all threads are, whatever these wait for.
            faulthandler.register(signal.Signals["SIG" + slow_signal], file=2)
        self._serial = None  # of the connection that the loop has in hand
        self.load = None
        self._was_forked = False  # and is not ready yet

    def _say(self, verb, text):
        """One message, one line of ASCII, short enough."""
        line = "".join(c if " " <= c <= "~" else " " for c in str(text))
        message = f"{verb} {line}".encode()[:MESSAGE_MAX]
        self._socket.send(message)

    def ready(self):
        """Initialised: connections may come."""
        self._socket.send(b"READY")
        # The daemon knows a forked process from then on.
        if self._was_forked:
            self._was_forked = False
            begin_session()

    def fail(self, text):
        """Why this process cannot go on; to be followed by its exit."""
        self._say("FAIL", text)

    def event(self, text):
        """For the log and the event stream; not before ready()."""
        self._say("EVENT", text)

    def status(self, text):
        """Shown beside this process in the status; not before ready()."""
        self._say("STATUS", text)

    def retire(self):
        """Asks to be handed no more; what is on its way still comes."""
        self._socket.send(b"RETIRE")

    def template(self, after_fork=None):
        """To be called before ready(), when all that is needed is loaded.

        In the template of an app, serves the daemon until that wants no more
        of it, and returns in each worker that was forked, after a call of
        after_fork().  Does nothing else in any other process.  Threads are not
        forked, and one connection to a database cannot serve two processes:
        after_fork() is the place to begin such.
        """
        self._after_fork = after_fork
        if self._is_template:
            self._serve_forks()

    def _serve_forks(self):
        """As the template; returns in the workers."""
        # What the workers share stays shared: a collection writes to it all.
        gc.collect()
        gc.freeze()
        try:
            self.ready()
            while self._is_template:
                words, fds = self._receive()
                if words[0] in ("", "STOP"):
                    sys.exit(0)
                if words[0] != "FORK":
                    raise ValueError(f"unknown message {words}")
                self._fork(words, fds)
        except (BrokenPipeError, ConnectionResetError):
            sys.exit(0)
        if self._after_fork is not None:
            self._after_fork()

    def _fork(self, words, fds):
        """Another process, on the descriptors; returns in both."""
        _, serial, name, slot = words
        # Or each would write it.
        for stream in sys.stdout, sys.stderr:
            if stream is not None and not stream.closed:
                stream.flush()
        try:
            pid = fork_twice()
        except OSError as problem:
            pid = 0
            if self._is_template:
                self.fail(f"cannot fork: {problem}")
                sys.exit(1)
        if pid is None:
            self._begin(name, slot, fds)
            return
        for fd in fds:
            os.close(fd)
        self._say("FORKED", f"{serial} {pid}")

    def _begin(self, name, slot, fds):
        """The life of a process that was forked."""
        os.setpgid(0, 0)
        self._socket.close()
        self._socket = socket.socket(fileno=fds[0])
        # Not that which the program has set for its sockets.
        self._socket.settimeout(None)
        # None: the output stays that of the template.
        for standard, fd in enumerate(fds[1:], 1):
            os.dup2(fd, standard)
            os.close(fd)
        self.id = name
        self._is_template = slot == "template"
        self.slot = None if self._is_template else int(slot)
        self._was_forked = True

    def _receive(self, flags=0):
        """The words of the next message, and its descriptors."""
        message, fds, _, _ = socket.recv_fds(
            self._socket, MESSAGE_MAX, 3, socket.MSG_CMSG_CLOEXEC | flags
        )
        return message.decode().split(" "), [lift(fd) for fd in fds]

    def park(self, connection):
        """The connection is idle: its next request goes to any process.

        For the one that connections() has yielded, with all that was read from
        it answered and nothing half read.  Closes it here; the daemon keeps
        it, if the app has keep_alive = true.
        """
        connection.setblocking(True)
        os.close(connection.detach())
        serial, self._serial = self._serial, None
        self._say("PARK" if self.keep_alive else "DONE", serial)

    def keep(self):
        """The connection is served on while the loop yields others.

        For the one that connections() has yielded and the program has detached.
        Returns what done() is to be called with when that has been closed.
        """
        serial, self._serial = self._serial, None
        return serial

    def done(self, serial):
        self._say("DONE", serial)

    def fileno(self):
        return self._socket.fileno()

    def connections(self, wait=None):
        """Yields one connection after the other, closes and reports it.

        wait() returns when something can be read from fileno().
        """
        try:
            while True:
                try:
                    if wait is not None:
                        wait()
                    words, fds = self._receive(
                        socket.MSG_DONTWAIT if wait else 0)
                except BlockingIOError:
                    # The daemon has taken the connection back.
                    continue
                if words[0] in ("", "STOP"):
                    return
                if words[0] == "FORK":
                    self._fork(words, fds)
                    # A worker that is warm by now leaves a template behind.
                    if self._is_template:
                        self._serve_forks()
                        self.ready()
                    continue
                if words[0] != "CONN":
                    raise ValueError(f"unknown message {words}")
                if fds:
                    self._serial = words[1]
                    # In thousandths, if the app has load_report = true.
                    self.load = int(words[3]) / 1000 if words[3:] else None
                    with socket.socket(fileno=fds[0]) as connection:
                        yield connection
                    if self._serial is not None:
                        self._say("DONE", self._serial)
                else:
                    self._say("LOST", words[1])
        except (BrokenPipeError, ConnectionResetError):
            return


def lift(fd):
    """Moves a descriptor above the standard ones, if a program has closed these.

    A worker's output would otherwise be closed as the place it came from, and a
    client's connection become standard output.
    """
    if fd > 2:
        return fd
    higher = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return higher


def begin_session():
    """Each session has its share of the processors from the scheduler.

    The leader of a group has to join another one to leave it, and leads it again
    where it cannot: one of its children is there.
    """
    with contextlib.suppress(OSError):
        os.setpgid(0, os.getsid(0))
        try:
            os.setsid()
        except OSError:
            os.setpgid(0, 0)


def fork_twice():
    """The number of a process whose parent has ended; None in that process."""
    told, tell = os.pipe()
    with open(told, "rb", 0) as told, open(tell, "wb", 0) as tell:
        middle = os.fork()
        if middle == 0 and is_child(tell):
            return None
        tell.close()
        pid = int(told.read(32) or 0)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(middle, 0)
        if pid == 0:
            raise OSError("the process in between could not")
        return pid


def is_child(tell):
    """For the process in between, which ends here; true in its child."""
    try:
        pid = os.fork()
        if pid == 0:
            return True
        tell.write(b"%d" % pid)
    except OSError:
        pass
    os._exit(0)


def slot_key(kind, key, slots):
    """The key to lock where at most `slots` kinds of work are told apart."""
    return f"{kind}:{int(hashlib.sha1(key.encode()).hexdigest()[:4], 16) % slots}"


class Counter:
    """Locks with a limit, of a PoolCounter service; see apppool-counter(7).

        with apppool.Counter() as counter:
            word = counter.lock("report", 1, 50, timeout=10, anyone=True)
            if word == "LOCKED":
                compute_and_store()
                counter.unlock("report")

    The address may be that of several servers, with commas between them: a key
    is locked at the first that takes a connection within connect_timeout, in
    the order of MediaWiki.  The locks end with the connections.  An OSError
    means that the service cannot be reached (any more): go on without the
    lock.
    """

    def __init__(self, address=None, patience=2, connect_timeout=0.1):
        self._names = (address or os.environ["APPPOOL_COUNTER"]).split(",")
        self._patience = patience
        self._connect_timeout = connect_timeout
        self._sockets = {}  # of each server that is connected
        self._down = {}  # servers that took no connection: why, until when
        self._locks = []  # server and key, the newest last

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for name in list(self._sockets):
            self._disconnect(name)

    def _disconnect(self, name):
        self._sockets.pop(name).close()
        self._locks = [lock for lock in self._locks if lock[0] != name]

    def _connect(self, name):
        if name.startswith("unix:"):
            path = name[5:]
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(self._connect_timeout)
            try:
                sock.connect("\0" + path[1:] if path[:1] == "@" else path)
            except OSError:
                sock.close()
                raise
            return sock
        host, port = name, 7531
        if ":" in name and not name.endswith("]"):
            host, _, port = name.rpartition(":")
        return socket.create_connection(
            (host.strip("[]"), int(port)), self._connect_timeout)

    def _choose(self, key):
        """The server of the key, connected."""
        error = None
        for name in sorted(self._names, key=lambda name: hashlib.md5(
                (name + key).encode()).digest()):
            if name in self._sockets:
                return name
            why, until = self._down.get(name, (None, 0))
            if why is None or time.monotonic() >= until:
                try:
                    self._sockets[name] = self._connect(name)
                    self._down.pop(name, None)
                    return name
                except OSError as e:
                    why = e
                    self._down[name] = why, time.monotonic() + 1
            error = why
        raise error

    def _ask(self, name, line, wait=0):
        sock = self._sockets[name]
        try:
            sock.settimeout(wait * 1.5 + self._patience)
            sock.sendall(line.encode() + b"\n")
            reply = b""
            while not reply.endswith(b"\n"):
                data = sock.recv(1024)
                if not data:
                    raise ConnectionResetError("the service has gone")
                reply += data
        except OSError:
            self._disconnect(name)
            raise
        return reply.decode().rstrip("\n")

    def lock(self, key, workers, maxqueue, timeout=0, anyone=False):
        """LOCKED, DONE, QUEUE_FULL, TIMEOUT or LOCK_HELD."""
        if not key or any(c in key for c in " \r\n"):
            raise ValueError(f"not a key: {key!r}")
        verb = "ACQ4ANY" if anyone else "ACQ4ME"
        seconds = f"{timeout:.3f}".rstrip("0").rstrip(".")
        line = f"{verb} {key} {workers} {maxqueue} {seconds}"
        while True:
            connected = set(self._sockets)
            name = self._choose(key)
            idle = name in connected and name not in dict(self._locks)
            try:
                reply = self._ask(name, line, timeout)
                break
            except (BrokenPipeError, ConnectionResetError):
                # A server that was restarted has ended idle connections.
                if not idle:
                    raise
        if reply.startswith("ERROR"):
            raise OSError(reply)
        if reply == "LOCKED":
            self._locks.append((name, key))
        return reply

    def unlock(self, key=""):
        """Gives back the newest lock of the key, or of all; True if any."""
        for lock in reversed(self._locks):
            if key in ("", lock[1]):
                answer = self._ask(lock[0], f"RELEASE {key}".rstrip())
                self._locks.remove(lock)
                return answer == "RELEASED"
        return False


class Client:
    """The other end of a connection, and what came of it and is not yet used.

    Each part that the client sends, as begin() says, has so many seconds, and a
    second more for each 16 KiB of it that has come.  Only waiting counts, and
    all of it: where the limit is on silence alone, a byte now and then holds
    the process for ever.  A client that has left or is too slow is a
    ConnectionResetError.
    """

    RATE = 16384
    # In which some of what is written must be taken.
    WRITE_SECONDS = 60

    def __init__(self, connection, seconds=10):
        self.connection = connection
        self._seconds = seconds
        self._read = bytearray()
        self._written = bytearray()
        self.begin()

    def begin(self):
        """What is read from now on is a part of its own."""
        self._left = self._seconds

    def has_more(self, passing_over=b""):
        """Whether something was read that is not yet used."""
        while passing_over and self._read.startswith(passing_over):
            del self._read[:len(passing_over)]
        return bool(self._read)

    def read(self, most):
        """At least one byte."""
        if not self._read:
            self._receive()
        return self._take(most)

    def read_line(self, most):
        """The bytes before an LF; None: they are more than so many."""
        start = 0
        while (end := self._read.find(b"\n", start)) < 0:
            start = len(self._read)
            if start > most:
                return None
            self._receive()
        return self._take(end + 1)[:-1] if end <= most else None

    def _take(self, count):
        data = bytes(self._read[:count])
        del self._read[:count]
        return data

    def _receive(self):
        begin = time.monotonic()
        data = b""
        if self._left > 0:
            self.connection.settimeout(self._left)
            with contextlib.suppress(TimeoutError):
                data = self.connection.recv(65536)
        self._came(data, begin)

    def _came(self, data, begin):
        """Has been read since then."""
        if not data:
            raise ConnectionResetError("the client has left, or is too slow")
        self._left += len(data) / self.RATE - (time.monotonic() - begin)
        self._left = min(self._left, self._seconds)
        self._read += data

    def write(self, data):
        self._written += data

    def flush(self):
        self.connection.settimeout(self.WRITE_SECONDS)
        while self._written:
            del self._written[:self.connection.send(self._written)]


def linger(connection, seconds=2, size=65536):
    """Reads what the client still sends before the connection is closed.

    Closing a TCP socket with input unread resets the connection, which can
    take the answer from the client before that has read it.
    """
    end = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while size > 0 and (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            data = connection.recv(min(size, 8192))
            if not data:
                return
            size -= len(data)


def seconds(text):
    """The value of an option, for argparse."""
    if not 0 < float(text) <= 86400:
        raise ValueError
    return float(text)
