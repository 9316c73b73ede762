"""Calls of functions that the processes of an app serve by apppool-jobs.

    with apppool_jobs.Pool("/run/apppoold/jobs.sock") as pool:
        futures = [pool.call("thumbnail", name) for name in names]
        for future in futures:
            print(future.result())

How many processes there are is the daemon's business.  A function that is
served may have its process replaced: it calls retire(), or raises Retire.
"""

import base64
import collections
import concurrent.futures
import contextlib
import contextvars
import json
import os
import select
import socket
import threading
import traceback

# Bytes of a call, with the LF.
LINE_MAX = 16 << 20

# Of a process that serves functions.
worker = None
retiring = False
tell = contextvars.ContextVar("tell")  # sends the arguments of event()


class Retire(Exception):
    """To be raised by a function: its error, and the last of its process."""


class JobError(Exception):
    """What a function has raised, as text."""


def retire():
    """For a function that is served: its process is to be replaced.

    What has been sent to that already is still answered.
    """
    global retiring
    if not retiring:
        retiring = True
        worker.retire()


def event(*arguments):
    """For a function that is served: to on_event of the client that called.

    Raises an OSError if that has left.
    """
    tell.get()(arguments)


def encode(message):
    """A line of JSON, where bytes are objects with the one key $bytes."""
    count = 0

    def encode_bytes(value):
        nonlocal count
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"{type(value).__name__} is not JSON serializable")
        count += 1
        return {"$bytes": base64.b64encode(value).decode()}

    line = json.dumps(message, default=encode_bytes)
    # A quote inside a string would have a backslash.
    if line.count('"$bytes": ') != count:
        raise ValueError("the key $bytes is reserved")
    return line.encode() + b"\n"


def decode(line):
    """The message that was encoded."""
    def decode_bytes(value):
        if [*value] != ["$bytes"]:
            return value
        return base64.b64decode(value["$bytes"], validate=True)

    return json.loads(line, object_hook=decode_bytes)


class Pool:
    """Many calls at a time, over some connections, from any thread.

    A connection stays with its process until nothing is left to ask for.  At
    most `load` calls are on their way to one, more than one only if all
    connections are busy: 1 is best for soon answers, 2 and more for many.

    on_event gets the arguments of each event() of a function, in a thread of
    the pool and before the result is there.
    """

    def __init__(self, path, connections=4, load=2, on_event=None):
        self._path = path
        self._load = load
        self._on_event = on_event
        self._calls = collections.deque()  # their lines and futures
        self._changed = threading.Condition()
        self._idle = 0  # threads that wait for a call
        self._roomy = set()  # threads whose connections have room for one
        self._closed = False
        self._threads = [
            threading.Thread(target=self._run, daemon=True)
            for _ in range(connections)
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Returns when all calls have been answered."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    def call(self, function, *arguments):
        """The future of the result.

        It has a JobError if the function has raised something, or an OSError
        if there is no answer: the call may have been carried out, or not.
        Calls cannot be cancelled.
        """
        request = {"function": function, "arguments": arguments}
        if self._on_event:
            request["events"] = True
        call = encode(request), concurrent.futures.Future()
        call[1].set_running_or_notify_cancel()
        if len(call[0]) > LINE_MAX:
            raise ValueError(f"a call has at most {LINE_MAX} bytes")
        with self._changed:
            if self._closed:
                raise ValueError("the pool is closed")
            self._calls.append(call)
            self._changed.notify()
            if self._idle == 0 and self._roomy:
                os.eventfd_write(self._roomy.pop(), 1)
        return call[1]

    def _run(self):
        wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        while call := self._wait():
            conversation = Conversation(call, wake, self._on_event)
            try:
                conversation.connect(self._path)
                while conversation.step():
                    while conversation.has_room(self._load) and (
                            call := self._take(wake)):
                        conversation.unsent.append(call)
            except (OSError, ValueError, LookupError) as problem:
                conversation.lose(problem)
            conversation.close()
            self._put(conversation.left(), wake)
        os.close(wake)

    def _wait(self):
        """The next call; None: the pool is closed."""
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._calls or self._closed)
            self._idle -= 1
            return self._calls.popleft() if self._calls else None

    def _take(self, wake):
        """The next call, if no other thread is free for it."""
        with self._changed:
            self._roomy.discard(wake)
            if self._calls and self._idle == 0:
                return self._calls.popleft()
            self._roomy.add(wake)

    def _put(self, calls, wake):
        """The end of a connection, and calls that no process has begun."""
        with self._changed:
            self._roomy.discard(wake)
            self._calls.extendleft(reversed(calls))
            self._changed.notify(len(calls))


class Conversation:
    """A connection, and the calls that are on it."""

    def __init__(self, call, wake, on_event):
        self._wake = wake
        self._on_event = on_event
        self._socket = socket.socket(socket.AF_UNIX)
        self.unsent = collections.deque([call])
        self._written = 0  # of the first of these
        self._sent = collections.deque()
        self._answered = 0
        self._read = bytearray()
        self._is_open = True

    def connect(self, path):
        self._socket.connect(path)
        self._socket.setblocking(False)

    def close(self):
        self._socket.close()

    def has_room(self, load):
        return self._is_open and len(self.unsent) + len(self._sent) < load

    def step(self):
        """Waits for the process or another call; false if it is the end."""
        to_send = self.unsent and self._is_open
        if not to_send and not self._sent:
            return False
        # A process that answers may take nothing before that is read.
        poll = select.poll()
        poll.register(self._socket,
                      select.POLLIN | (select.POLLOUT if to_send else 0))
        poll.register(self._wake, select.POLLIN)
        poll.poll()
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        with contextlib.suppress(BlockingIOError):
            if to_send:
                self._send()
        with contextlib.suppress(BlockingIOError):
            self._receive()
        return True

    def _send(self):
        line = memoryview(self.unsent[0][0])
        try:
            self._written += self._socket.send(line[self._written:])
        except BrokenPipeError:
            # The process takes no more, and answers what it has.
            if not self._sent and self._answered == 0:
                raise
            self._is_open = False
            return
        if self._written == len(line):
            self._sent.append(self.unsent.popleft())
            self._written = 0

    def _receive(self):
        data = self._socket.recv(65536)
        if not data:
            raise ConnectionResetError("no answer: the connection was closed")
        self._read += data
        if b"\n" in data:
            *lines, self._read = self._read.split(b"\n")
            for line in lines:
                self._settle(decode(line))

    def _settle(self, reply):
        if "event" in reply:
            try:
                self._on_event(*reply["event"])
            except Exception:
                # Not one of the connection, whose calls go on.
                traceback.print_exc()
            return
        self._answered += 1
        _, future = self._sent.popleft()
        if "error" in reply:
            future.set_exception(JobError(reply["error"]))
        else:
            future.set_result(reply["result"])

    def lose(self, problem):
        """The first call without an answer may have been begun, no other."""
        if self._sent or self._answered == 0:
            (self._sent or self.unsent).popleft()[1].set_exception(problem)

    def left(self):
        return [*self._sent, *self.unsent]
