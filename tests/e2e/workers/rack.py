"""HTTP and Rack as apppool-rack has them; the application is rack.ru."""

import fcntl
import json
import os
import socket
import termios

import contrib
import http_facts
from contrib import GET
from http_facts import CHUNKED, POST, body, get, logged, said


def ready(**options):
    worker = contrib.rack(**options)
    assert worker.heard() == b"READY"
    return worker


# Applications and their frameworks decode the path.
globals().update(http_facts.of(
    ready, PATH_INFO="/a%20b", HTTP_VERSION="HTTP/1.1",
    SERVER_SOFTWARE="apppool-rack", hijack=False))


def requests_that_are_too_long_are_refused(folder):
    with ready() as worker:
        assert worker.status(b"GET /" + b"x" * 70000) == 414
        assert worker.status(get(b"/", b"A: b\r\n" * 12000)) == 431
        env = said(worker, get(b"/" + b"x" * 60000))
        assert len(env["PATH_INFO"]) == 60001


def an_empty_line_before_a_request_is_none(folder):
    with ready() as worker:
        assert worker.status(b"\r\n" + GET) == 200


def a_body_in_chunks_is_joined(folder):
    with ready() as worker:
        for chunks, text in (
            (b"3\r\nabc\r\n0\r\n\r\n", "abc"),
            (b"01;x=y\r\na\r\nA \t;z\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
             "a0123456789"),
            (b"0\r\n\r\n", ""),
        ):
            env = said(worker, CHUNKED + chunks)
            assert env["body"] == text
            assert "CONTENT_LENGTH" not in env
        big = b"1F4\r\n" + b"x" * 500 + b"\r\n"
        request = CHUNKED.replace(b"/ ", b"/size ") + big * 400
        assert body(worker.ask(request + b"0\r\n\r\n")) == b"200000"


def chunks_may_come_in_pieces(folder):
    with socket.socket(socket.AF_UNIX) as listener, ready() as worker:
        listener.bind(f"{folder}/socket")
        listener.listen()
        with worker.hand(listener) as client:
            for byte in CHUNKED + b"3;x\r\nabc\r\n1\r\nd\r\n0\r\nX: y\r\n\r\n":
                client.sendall(bytes([byte]))
                # Until that has been read.
                while any(fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4))):
                    os.sched_yield()
            with client.makefile("rb") as answer:
                assert json.loads(body(answer.read()))["body"] == "abcd"


def a_body_that_breaks_off_is_not_taken_for_whole(folder):
    with ready() as worker:
        for request in (
            POST + b"Content-Length: 9\r\n\r\nshort",
            CHUNKED + b"9\r\nshort",
            CHUNKED + b"5\r\nwhole\r\n",
        ):
            assert worker.ask(request, finish=True) == b""


def a_body_in_a_file_has_no_name_there(folder):
    with ready(environment={"TMPDIR": str(folder)}) as worker:
        before = os.listdir(folder)
        text = b"x" * 200000
        assert worker.status(POST + b"Content-Length: %d\r\n\r\n%s"
                             % (len(text), text)) == 200
        assert os.listdir(folder) == before


def a_body_may_be_read_again(folder):
    with ready() as worker:
        for size in (0, 9, 200000):
            request = POST.replace(b"/ ", b"/twice ")
            request += b"Content-Length: %d\r\n\r\n" % size + b"x" * size
            assert body(worker.ask(request)) == b"true"
        request = POST.replace(b"/ ", b"/lines ")
        request += b"Content-Length: 8\r\n\r\none\ntwo\n"
        assert body(worker.ask(request)) == b"one\n"


def continue_is_said_only_to_who_will_be_heard(folder):
    head = b" HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\n"
    head += b"Content-Length: 1\r\n\r\n"
    for options in ({}, {"environment": {"APPPOOL_KEEP_ALIVE": "1"}}):
        with ready(**options) as worker:
            with worker.hand() as client:
                client.sendall(b"POST /" + head)
                assert client.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
                client.sendall(b"x")
                assert b" 200 OK\r\n" in client.recv(4096)
                assert worker.heard() in (b"DONE 1", b"PARK 1")
            # The connection ends: who knows whether the body comes.
            answer = worker.ask(b"POST /unread" + head)
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def pieces_come_one_by_one_with_their_end(folder):
    with ready() as worker:
        answer = worker.ask(get(b"/pieces"))
        assert b"\r\nTransfer-Encoding: chunked\r\n" in answer
        assert body(answer) == b"4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"
        answer = worker.ask(b"GET /pieces HTTP/1.0\r\n\r\n")
        assert b"Transfer-Encoding" not in answer
        assert body(answer) == b"one two"
        assert logged(worker) == b"closed\n" * 2


def a_body_that_is_none_is_not_sent(folder):
    with ready() as worker:
        for path, length in ((b"/", True), (b"/pieces", False)):
            answer = worker.ask(get(path).replace(b"GET", b"HEAD"))
            assert answer.endswith(b"\r\n\r\n")
            assert (b"Content-Length:" in answer) == length
            assert b"chunked" not in answer
        answer = worker.ask(get(b"/empty"))
        assert answer.startswith(b"HTTP/1.1 204 No Content\r\n")
        assert b"Content-Length" not in answer
        assert answer.endswith(b"\r\n\r\n")


def headers_are_those_of_the_application(folder):
    with ready() as worker:
        head = worker.ask(get(b"/cookies")).partition(b"\r\n\r\n")[0]
        lines = head.split(b"\r\n")
        assert lines.pop(1).startswith(b"Date: ")
        assert lines == [
            b"HTTP/1.1 200 OK",
            b"Content-Type: text/plain",
            b"Set-Cookie: a=1",
            b"Set-Cookie: b=2",
            b"Content-Length: 1",
            b"Connection: close",
        ]


def a_body_may_be_of_any_encoding(folder):
    with ready() as worker:
        assert body(worker.ask(get(b"/unicode"))) == b"\xc3\xa9\xff"
        with open("tests/e2e/workers/rack.ru", "rb") as file:
            sent = file.read()
        answer = worker.ask(b"GET /file HTTP/1.0\r\n\r\n")
        assert body(answer) == sent


def an_application_that_fails_is_logged_and_answered(folder):
    with ready() as worker:
        for path, error in (
            (b"/crash", b"crashed (RuntimeError)"),
            (b"/missing", b"no_such_file (LoadError)"),
            (b"/broken_first", b"broken off (RuntimeError)"),
            (b"/split", b'header X: "a\\r'),
            (b"/name", b'header "X: a\\r'),
            (b"/long", b"more than Content-Length says"),
            (b"/status", b"status -1"),
            (b"/throw", b"uncaught throw :async"),
            (b"/nil", b"status "),
        ):
            assert worker.status(get(path)) == 500, path
            assert error in logged(worker), path
        assert worker.status(GET) == 200


def an_answer_that_breaks_off_is_not_taken_for_whole(folder):
    with ready() as worker:
        answer = worker.ask(get(b"/short"))
        assert answer.startswith(b"HTTP/1.1 500 ")
        for request in (get(b"/broken"), b"GET /broken HTTP/1.0\r\n\r\n"):
            try:
                assert not worker.ask(request).endswith(b"0\r\n\r\n")
            except ConnectionResetError:
                assert worker.heard() == b"DONE %d" % worker.serial
            else:
                assert b"HTTP/1.1" in request
        assert b"closed\n" in logged(worker)
        assert worker.status(GET) == 200


def a_body_that_cannot_be_closed_is_logged(folder):
    with ready() as worker:
        answer = worker.ask(get(b"/unclosed"))
        assert body(answer) == b"3\r\none\r\n0\r\n\r\n"
        assert b"not closed (RuntimeError)" in logged(worker)


def a_client_that_does_not_read_hears_it_all_later(folder):
    with socket.socket(socket.AF_UNIX) as listener, ready() as worker:
        # The buffer of a Unix socket is small.
        listener.bind(f"{folder}/socket")
        listener.listen()
        with worker.hand(listener) as client:
            size = 4000000
            client.sendall(POST + b"Content-Length: %d\r\n\r\n" % size)
            client.sendall(b"x" * size)
            with client.makefile("rb") as answer:
                assert len(body(answer.read())) > size


def a_machine_without_rack_is_told_what_to_install(folder):
    with contrib.rack(environment={"RUBYOPT": "--disable-gems"}) as worker:
        assert worker.process.wait(10) == 1
        assert logged(worker).endswith(b"-- rack: install ruby-rack\n")


def a_file_that_cannot_be_loaded_says_why(folder):
    for text, why in (
        (None, b"Errno::ENOENT: No such file"),
        ("run(", b"SyntaxError: "),
        ("require 'no_such_file'", b"LoadError: cannot load such file"),
        ('raise "no\\nway"', b"RuntimeError: no way"),
        ("# nothing", b"RuntimeError: missing run or map"),
    ):
        name = f"{folder}/config.ru"
        if text is not None:
            with open(name, "w") as file:
                file.write(text)
        with contrib.rack(name) as worker:
            message = worker.heard()
            assert message.startswith(b"FAIL %s: " % name.encode()), message
            assert why in message, message
            assert worker.process.wait(10) == 1


def the_application_is_loaded_once_and_forked(folder):
    name = f"{folder}/config.ru"
    with open(name, "w") as file:
        file.write(
            "$loaded = Process.pid\n"
            "run ->(_) { [200, {}, [\"#{$loaded} #{rand}\"]] }\n"
        )
    import templates
    environment = dict(templates.TEMPLATE)
    with contrib.rack(name, environment=environment) as origin:
        assert origin.heard() == b"READY"
        seen = set()
        for serial in range(3):
            with templates.Process(origin, serial, "3", 0) as worker:
                loaded, drawn = body(worker.ask(GET)).split()
                assert int(loaded) == origin.process.pid
                seen.add(drawn)
        assert len(seen) == 3


if __name__ == "__main__":
    import ctypes
    ctypes.CDLL(None).prctl(36, 1)
    os.environ.pop("RACK_ENV", None)
    contrib.main(globals())
