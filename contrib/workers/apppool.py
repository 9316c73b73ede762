"""The worker protocol of apppoold in plain Python, see apppool-worker(7).

    worker = apppool.Worker()
    worker.ready()
    for connection in worker.connections():
        serve(connection)

The loop ends when the daemon asks the process to stop, or is gone.
"""

import os
import socket

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
        self.slot = int(os.environ["APPPOOL_SLOT"])
        for name in ("PROTOCOL", "FD", "APP", "ID", "SLOT"):
            # Programs started from here must not take it for theirs.
            del os.environ["APPPOOL_" + name]

    def _say(self, verb, text):
        """One message, one line of ASCII, short enough."""
        line = "".join(c if " " <= c <= "~" else " " for c in str(text))
        message = f"{verb} {line}".encode()[:MESSAGE_MAX]
        self._socket.send(message)

    def ready(self):
        """Initialised: connections may come."""
        self._socket.send(b"READY")

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

    def connections(self):
        """Yields one connection after the other, closes and reports it."""
        try:
            while True:
                message, fds, _, _ = socket.recv_fds(
                    self._socket, MESSAGE_MAX, 1, socket.MSG_CMSG_CLOEXEC
                )
                words = message.decode().split(" ")
                if words[0] in ("", "STOP"):
                    return
                if words[0] != "CONN":
                    raise ValueError(f"unknown message {message!r}")
                if fds:
                    with socket.socket(fileno=fds[0]) as connection:
                        yield connection
                    self._say("DONE", words[1])
                else:
                    self._say("LOST", words[1])
        except (BrokenPipeError, ConnectionResetError):
            return


class Counter:
    """Locks with a limit, of a PoolCounter service; see apppool-counter(7).

        with apppool.Counter() as counter:
            word = counter.lock("report", 1, 50, timeout=10, anyone=True)
            if word == "LOCKED":
                compute_and_store()
                counter.unlock("report")

    The locks end with the connection.  An OSError means that the service
    cannot be reached (any more): go on without the lock.
    """

    def __init__(self, address=None, patience=2):
        address = address or os.environ["APPPOOL_COUNTER"]
        self._patience = patience
        if address.startswith("unix:"):
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.settimeout(patience)
            self._socket.connect(address[5:].replace("@", "\0", 1)
                                 if address[5:6] == "@" else address[5:])
        else:
            host, _, port = address.rpartition(":")
            self._socket = socket.create_connection(
                (host.strip("[]"), int(port)), patience)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._socket.close()

    def _ask(self, line, wait=0):
        self._socket.settimeout(wait * 1.5 + self._patience)
        self._socket.sendall(line.encode() + b"\n")
        reply = b""
        while not reply.endswith(b"\n"):
            data = self._socket.recv(1024)
            if not data:
                raise ConnectionResetError("the service has gone")
            reply += data
        return reply.decode().rstrip("\n")

    def lock(self, key, workers, maxqueue, timeout=0, anyone=False):
        """LOCKED, DONE, QUEUE_FULL, TIMEOUT or LOCK_HELD."""
        if not key or any(c in key for c in " \r\n"):
            raise ValueError(f"not a key: {key!r}")
        verb = "ACQ4ANY" if anyone else "ACQ4ME"
        seconds = f"{timeout:.3f}".rstrip("0").rstrip(".")
        reply = self._ask(
            f"{verb} {key} {workers} {maxqueue} {seconds}", timeout)
        if reply.startswith("ERROR"):
            raise OSError(reply)
        return reply

    def unlock(self, key=""):
        """Gives back the newest lock of the key, or of all; True if any."""
        return self._ask(f"RELEASE {key}".rstrip()) == "RELEASED"


def linger(connection, seconds=2, size=65536):
    """Reads what the client still sends before the connection is closed.

    Closing a TCP socket with input unread resets the connection, which can
    take the answer from the client before that has read it.
    """
    try:
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(seconds)
        while size > 0:
            data = connection.recv(min(size, 8192))
            if not data:
                return
            size -= len(data)
    except OSError:
        return
