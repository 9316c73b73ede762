"""The sample workers, with the test in the place of the daemon."""

import contextlib
import inspect
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import types

BUILD = os.environ.get("BUILD", "build")
PYTHON = "/usr/bin/python3"
PERL = "/usr/bin/perl"
WORKERS = "contrib/workers"
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

APPLICATION = """
import json
from wsgiref.validate import validator

def plain(environ, start_response):
    if environ["PATH_INFO"] == "/crash":
        raise RuntimeError("crashed")
    start_response("200 OK", [("Content-Type", "text/plain")])
    if environ["PATH_INFO"] == "/unread":
        return [b"unread"]
    length = int(environ.get("CONTENT_LENGTH") or 0)
    said = {k: v for k, v in environ.items() if isinstance(v, str)}
    said["body"] = environ["wsgi.input"].read(length).decode()
    return [json.dumps(said).encode()]

# Fails if the server or the application does not keep to PEP 3333.
app = validator(plain)
"""


class Worker:
    """A sample and our ends of its socket and of a listener."""

    def __init__(self, *command, environment=(), **options):
        self.end, end = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        variables = dict(
            os.environ,
            PYTHONDONTWRITEBYTECODE="1",
            APPPOOL_PROTOCOL="1",
            APPPOOL_FD=str(end.fileno()),
            APPPOOL_APP="web",
            APPPOOL_ID="7",
            APPPOOL_SLOT="3",
        )
        variables.update(environment)
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            command,
            env={k: v for k, v in variables.items() if v is not None},
            pass_fds=[end.fileno()],
            stderr=self.log,
            **options,
        )
        end.close()
        self.end.settimeout(20)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.serial = 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait()
        self.end.close()
        self.listener.close()
        self.log.close()

    def heard(self):
        return self.end.recv(4096)

    def hand(self, listener=None):
        """Hands over a new connection and returns the client's end."""
        listener = listener or self.listener
        client = socket.socket(listener.family)
        client.settimeout(20)
        client.connect(listener.getsockname())
        connection, _ = listener.accept()
        self.serial += 1
        message = b"CONN %d 5" % self.serial
        socket.send_fds(self.end, [message], [connection.fileno()])
        connection.close()
        return client

    def ask(self, request, finish=False, listener=None):
        """The whole answer; the session has been done."""
        with self.hand(listener) as client:
            client.sendall(request)
            if finish:
                client.shutdown(socket.SHUT_WR)
            with client.makefile("rb") as answer:
                text = answer.read()
        assert self.heard() == b"DONE %d" % self.serial
        return text

    def status(self, request):
        return int(self.ask(request).split(b" ")[1])


def runs(language):
    """Whether our library in it has what it needs."""
    if language == PERL:
        return os.path.exists("/usr/share/doc/libsocket-msghdr-perl")
    return os.path.exists(language)


def hello_c():
    return Worker(f"{BUILD}/contrib/hello")


def hello_py():
    return Worker(PYTHON, f"{WORKERS}/hello.py")


def wsgi(folder, name="demo:app"):
    with open(f"{folder}/demo.py", "w") as file:
        file.write(APPLICATION)
    return Worker(os.path.abspath(f"{WORKERS}/apppool-wsgi"), name, cwd=folder)


HAS_RACK = os.path.exists("/usr/share/doc/ruby-rack")
HAS_PSGI = runs(PERL) and os.path.exists("/usr/share/doc/libplack-perl")
PAGES_PSGI = "tests/e2e/workers/pages.psgi"


def rack(config="tests/e2e/workers/rack.ru", **options):
    return Worker(f"{WORKERS}/apppool-rack", config, **options)


def psgi(pages=PAGES_PSGI, **options):
    return Worker(f"{WORKERS}/apppool-psgi", pages, **options)


def every(folder):
    """Each sample in turn, ready."""
    starts = [hello_c, hello_py, lambda: wsgi(folder)]
    if HAS_RACK:
        starts.append(rack)
    if HAS_PSGI:
        starts.append(psgi)
    for start in starts:
        with start() as worker:
            assert worker.heard() == b"READY"
            yield worker


def a_page_says_who_made_it(folder):
    for start in (hello_c, hello_py):
        with start() as worker:
            assert worker.heard() == b"READY"
            worker.ask(GET)
            page = worker.ask(GET).decode()
            assert "from web\nslot 3\nid 7\n" in page
            assert f"pid {worker.process.pid}\n" in page
            assert "served 2\n" in page


def a_request_may_come_in_pieces(folder):
    for worker in every(folder):
        with worker.hand() as client:
            for byte in GET:
                client.sendall(bytes([byte]))
            assert b" 200 OK\r\n" in client.recv(4096)


def a_body_is_read(folder):
    request = b"POST / HTTP/1.0\r\nContent-Length: 100000\r\n\r\n"
    for worker in every(folder):
        assert worker.status(request + b"x" * 100000) == 200


def head_has_no_body(folder):
    for worker in every(folder):
        answer = worker.ask(b"HEAD / HTTP/1.0\r\n\r\n")
        assert b" 200 OK\r\n" in answer and answer.endswith(b"\r\n\r\n")


def a_refusal_arrives_over_a_body_that_is_not_read(folder):
    rest = b"x" * 60000
    for worker in every(folder):
        for head in (
            b"Transfer-Encoding: chunked",
            b"Content-Length: -1",
            b"Content-Length: " + b"9" * 5000,
        ):
            request = b"POST / HTTP/1.0\r\n" + head + b"\r\n\r\n" + rest
            assert worker.status(request) in (400, 411), head


def a_client_that_leaves_costs_nothing(folder):
    post = b"POST / HTTP/1.0\r\nContent-Length: 9\r\n\r\nx"
    for worker in every(folder):
        for request in (b"", b"G", GET[:-2], post):
            worker.ask(request, finish=True)
        with worker.hand() as client:
            client.sendall(post)
            # Closing resets the connection.
            client.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
            )
        assert worker.heard().startswith(b"DONE")
        assert worker.status(GET) == 200


def held(client, more=b"x"):
    """For how long a client that sends a byte now and then is served."""
    begin = time.monotonic()
    client.settimeout(0.05)
    while time.monotonic() < begin + 20:
        try:
            client.sendall(more)
            if not client.recv(4096):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begin


def a_client_that_drips_is_cut_off(folder):
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"
    call = b'{"function": "'
    applications = [(["apppool-wsgi", "wsgi_pages"], [b"", GET[:-2] + b"X: ", head]),
                    (["apppool-jobs", "job_functions"], [b"", call])]
    if HAS_RACK:
        applications.append((["apppool-rack", "rack.ru"], [GET[:-2], head]))
    if HAS_PSGI:
        applications.append((["apppool-psgi", "pages.psgi"], [GET[:-2], head]))
    if runs(PERL):
        applications.append((["apppool-jobs-perl", "JobFunctions"], [call]))
    for (program, application), beginnings in applications:
        program = os.path.abspath(f"{WORKERS}/{program}")
        with Worker(program, "--timeout", "0.3", application,
                    cwd="tests/e2e/workers") as worker:
            assert worker.heard() == b"READY"
            for beginning in beginnings:
                with worker.hand() as client:
                    client.sendall(beginning)
                    assert 0.2 < held(client) < 10, (program, beginning)
                assert worker.heard() == b"DONE %d" % worker.serial


def a_client_that_is_refused_cannot_stay(folder):
    for start in (lambda: wsgi(folder), rack, psgi)[:1 + HAS_RACK + HAS_PSGI]:
        with start() as worker:
            assert worker.heard() == b"READY"
            with worker.hand() as client:
                client.sendall(b"GET /\r\n\r\n")
                assert client.recv(12) == b"HTTP/1.1 400"
                client.settimeout(20)
                begin = time.monotonic()
                while not select.select([worker.end], [], [], 0.05)[0]:
                    client.sendall(b"x")
                assert time.monotonic() - begin < 10
            assert worker.heard() == b"DONE 1"


def a_body_that_keeps_coming_has_more_time(folder):
    sys.path.insert(0, WORKERS)
    import apppool

    class Slow:
        """A client that needs four seconds for each piece."""

        now = 0

        def __init__(self, size):
            self.data = bytes(size)

        def settimeout(self, seconds):
            self.seconds = seconds

        def recv(self, _):
            self.now += min(4, self.seconds)
            if self.seconds < 4:
                raise TimeoutError
            return self.data

    for size, pieces in ((4 * apppool.Client.RATE, 100), (1000, 2)):
        slow = Slow(size)
        client = apppool.Client(slow, 10)
        apppool.time = types.SimpleNamespace(monotonic=lambda: slow.now)
        came = 0
        with contextlib.suppress(ConnectionResetError):
            while came < 100 * size:
                came += len(client.read(1 << 20))
        apppool.time = time
        assert came == pieces * size, (came, size)


def nonsense_costs_nothing(folder):
    for worker in every(folder):
        for request in (bytes(range(256)), b"\n" * 99, b"GET http://[ \r\n\r\n"):
            worker.ask(request, finish=True)
        assert worker.status(GET) == 200


def a_unix_socket_will_do(folder):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/socket")
        listener.listen()
        for worker in every(folder):
            assert b" 200 OK\r\n" in worker.ask(GET, listener=listener)


def stop_waits_for_the_request_at_hand(folder):
    for worker in every(folder):
        with worker.hand() as client:
            worker.end.send(b"STOP")
            client.sendall(GET)
            assert b" 200 OK\r\n" in client.recv(4096)
        assert worker.heard() == b"DONE 1"
        assert worker.process.wait(10) == 0


def the_end_of_the_daemon_is_as_stop(folder):
    for worker in every(folder):
        worker.end.close()
        assert worker.process.wait(10) == 0


def sigterm_ends_it(folder):
    for worker in every(folder):
        worker.process.terminate()
        assert worker.process.wait(10) == -signal.SIGTERM


def a_connection_without_its_descriptor_is_lost(folder):
    for worker in every(folder):
        worker.end.send(b"CONN 99 0")
        assert worker.heard() == b"LOST 99"
        assert worker.status(GET) == 200


def a_wsgi_application_sees_the_request(folder):
    request = (
        b"POST /a%20b?c=d HTTP/1.1\r\nHost: name:1\r\nX-One: 1\r\n"
        b"X_One: 2\r\nContent-Type: text/x\r\nContent-Length: 3\r\n\r\nabc"
    )
    with wsgi(folder) as worker:
        assert worker.heard() == b"READY"
        said = json.loads(worker.ask(request).partition(b"\r\n\r\n")[2])
    port = worker.serial and said.pop("REMOTE_PORT")
    assert port.isdigit()
    for key, value in (
        ("REQUEST_METHOD", "POST"),
        ("PATH_INFO", "/a b"),
        ("QUERY_STRING", "c=d"),
        ("CONTENT_LENGTH", "3"),
        ("CONTENT_TYPE", "text/x"),
        ("HTTP_HOST", "name:1"),
        ("HTTP_X_ONE", "1"),
        ("REMOTE_ADDR", "127.0.0.1"),
        ("SERVER_NAME", "127.0.0.1"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("body", "abc"),
    ):
        assert said[key] == value, (key, said[key])


def a_wsgi_application_that_fails_is_logged_and_answered(folder):
    with wsgi(folder) as worker:
        assert worker.heard() == b"READY"
        assert worker.status(b"GET /crash HTTP/1.0\r\n\r\n") == 500
        worker.log.seek(0)
        assert b"RuntimeError: crashed" in worker.log.read()
        assert worker.status(GET) == 200


def continue_is_said_only_to_who_will_be_heard(folder):
    head = b" HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
    head += b"Content-Length: 1\r\n\r\n"
    with wsgi(folder) as worker:
        assert worker.heard() == b"READY"
        with worker.hand() as client:
            client.sendall(b"POST /" + head)
            assert client.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"x")
            assert b" 200 OK\r\n" in client.recv(4096)
        assert worker.heard() == b"DONE 1"
        assert b" 200 OK\r\n" in worker.ask(b"POST /unread" + head)


def an_application_that_cannot_be_loaded_says_why(folder):
    with wsgi(folder, "missing:app") as worker:
        message = worker.heard()
        assert message.startswith(b"FAIL missing:app: ModuleNotFoundError")
        assert worker.process.wait(10) == 1


def example(page):
    """The first program in the EXAMPLES of a manual page."""
    with open(f"man/{page}") as file:
        text = file.read().partition(".Sh EXAMPLES")[2]
    block = text.partition(".Bd -literal -offset indent\n")[2]
    return block.partition(".Ed\n")[0].replace("\\e", "\\")


def check_example(*command):
    with Worker(*command) as worker:
        assert worker.heard() == b"READY"
        assert worker.ask(b"", finish=True) == b"hello\n"
        worker.end.send(b"STOP")
        assert worker.process.wait(10) == 0


def the_example_of_apppool_3_compiles_and_serves(folder):
    with open(f"{folder}/hello.c", "w") as file:
        file.write(example("apppool.3"))
    sources = ["lib/sys/fdpass.c"]
    for name in ("apppool", "channel"):
        sources.append(f"lib/worker/{name}.c")
    program = f"{folder}/hello"
    subprocess.run(
        ["cc", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Ilib", "-Ilib/worker"]
        + ["-o", program, f"{folder}/hello.c", *sources, "-pthread"],
        check=True,
    )
    check_example(program)


def the_example_of_apppool_worker_7_serves(folder):
    with open(f"{folder}/hello.py", "w") as file:
        file.write(example("apppool-worker.7"))
    check_example(PYTHON, f"{folder}/hello.py")


def main(names):
    facts = [
        (name, fact)
        for name, fact in names.items()
        if inspect.isfunction(fact)
        and list(inspect.signature(fact).parameters) == ["folder"]
        and name not in ("every", "wsgi")
        and (len(sys.argv) < 2 or name in sys.argv[1:])
    ]
    passed = 0
    for name, fact in facts:
        try:
            with tempfile.TemporaryDirectory() as folder:
                fact(folder)
        except Exception:
            sys.excepthook(*sys.exc_info())
            print("FAIL", name, flush=True)
        else:
            print("ok", name, flush=True)
            passed += 1
    print(f"## passed={passed} total={len(facts)}")
    sys.exit(passed != len(facts))


if __name__ == "__main__":
    main(globals())
