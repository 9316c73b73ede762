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
