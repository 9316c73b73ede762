"""Templates in the libraries of workers, with the test as the daemon."""

import ctypes
import json
import os
import resource
import signal
import socket
import tempfile
import time

import contrib

FORKERS = [
    [contrib.PYTHON, "tests/e2e/workers/forker.py"],
    ["/usr/bin/ruby", "tests/e2e/workers/forker.rb"],
    [contrib.PERL, "tests/e2e/workers/forker.pl"],
]
FORKERS = [forker for forker in FORKERS if contrib.runs(forker[0])]
TEMPLATE = {"APPPOOL_TEMPLATE": "1", "APPPOOL_SLOT": None}
PR_SET_CHILD_SUBREAPER = 36


class Process(contrib.Worker):
    """A process that another has forked for us."""

    def __init__(self, origin, serial, name, slot, fds=3):
        self.end, end = socket.socketpair(
            socket.AF_UNIX, socket.SOCK_SEQPACKET
        )
        self.end.settimeout(20)
        self.log = tempfile.TemporaryFile()
        self.output = tempfile.TemporaryFile()
        descriptors = [end.fileno(), self.output.fileno(), self.log.fileno()]
        message = f"FORK {serial} {name} {slot}".encode()
        socket.send_fds(origin.end, [message], descriptors[:fds])
        end.close()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.serial = 0
        verb, said, pid = origin.heard().split(b" ")
        assert (verb, said) == (b"FORKED", b"%d" % serial)
        self.pid = int(pid)
        assert self.heard() == b"READY"

    def __exit__(self, *unused):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.end.close()
        self.listener.close()
        self.log.close()
        self.output.close()

    def ends(self):
        """The exit status."""
        # __exit__ still finds a child of the number.
        ended = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        return ended.si_status

    def written(self):
        self.output.seek(0)
        return self.output.read()

    def printed(self):
        self.log.seek(0)
        return self.log.read()

    def facts(self):
        return json.loads(self.ask(b""))


def template(forker, **more):
    """As the daemon starts it."""
    return contrib.Worker(
        *forker, environment={**TEMPLATE, **more}, start_new_session=True
    )


def every(folder):
    """A template in each language, ready."""
    for forker in FORKERS:
        with template(forker) as origin:
            assert origin.heard() == b"READY"
            yield origin


def a_worker_is_what_it_was_asked_to_be(folder):
    for origin in every(folder):
        with Process(origin, 1, "a.3", 0) as one:
            with Process(origin, 2, "a.4", 5) as other:
                said = [one.facts(), other.facts()]
                assert [fact["pid"] for fact in said] == [one.pid, other.pid]
            assert [fact["app"] for fact in said] == ["web", "web"]
            assert [fact["id"] for fact in said] == ["a.3", "a.4"]
            assert [fact["slot"] for fact in said] == [0, 5]
            assert said[0]["environment"] == []


def family(worker):
    """Its parent, group and session, once it has answered."""
    worker.facts()
    with open(f"/proc/{worker.pid}/stat") as file:
        return [int(n) for n in file.read().rpartition(")")[2].split()[1:4]]


def a_worker_is_a_child_of_the_daemon_with_a_session_of_its_own(folder):
    for origin in every(folder):
        with Process(origin, 1, "3", 0) as worker:
            pid = worker.pid
            assert family(worker) == [os.getpid(), pid, pid]
            # Nor has a template, or a worker of that, the session of another.
            with Process(worker, 2, "4", "template") as newer:
                with Process(newer, 3, "5", 1) as third:
                    pid = third.pid
                    assert family(third) == [os.getpid(), pid, pid]
                    assert os.getsid(newer.pid) == newer.pid


def a_worker_whose_child_keeps_it_in_its_session_leads_its_group(folder):
    for forker in FORKERS:
        with template(forker, CHILD="1") as origin:
            assert origin.heard() == b"READY"
            with Process(origin, 1, "3", 0) as worker:
                _, group, session = family(worker)
                child = worker.facts()["child"]
                assert group == worker.pid
                assert session == origin.process.pid
                os.kill(child, signal.SIGKILL)


def a_slow_worker_prints_where_it_is_and_goes_on(folder):
    for forker in FORKERS:
        with template(forker, APPPOOL_SLOW_SIGNAL="USR2") as origin:
            assert origin.heard() == b"READY"
            with Process(origin, 1, "a.3", 0) as worker:
                program = os.path.basename(forker[1]).encode()
                for _ in range(2):
                    os.kill(worker.pid, signal.SIGUSR2)
                    while program not in worker.printed():
                        time.sleep(0.01)
                    worker.log.truncate(0)
                    worker.log.seek(0)
                    assert worker.facts()["environment"] == []


def workers_draw_different_random_numbers(folder):
    for origin in every(folder):
        drawn = set()
        for serial in range(4):
            with Process(origin, serial, "3", 0) as worker:
                drawn.add(worker.facts()["random"])
        assert len(drawn) == 4


def after_fork_is_called_once_in_each_worker(folder):
    for origin in every(folder):
        for serial in range(2):
            with Process(origin, serial, "3", 0) as worker:
                assert worker.facts()["forks"] == 1


def output_goes_where_the_daemon_said(folder):
    for origin in every(folder):
        with Process(origin, 1, "3", 0) as worker:
            # Bytes in the buffer of the template are not of the worker.
            assert worker.written() == b"begun\n"


def closed_descriptors_of_a_template_are_no_concern_of_its_workers(folder):
    closings = [{"CLOSE": numbers} for numbers in ("0", "1", "2", "0 1 2")]
    for forker in FORKERS:
        for closing in [*closings, {"CLOSE_STDERR": "1"}]:
            with template(forker, **closing) as origin:
                assert origin.heard() == b"READY"
                for serial in range(2):
                    with Process(origin, serial, "a.3", 0) as worker:
                        assert worker.written().endswith(b"begun\n")
                        assert worker.facts()["id"] == "a.3"
                        for number in (1, 2):
                            link = os.readlink(f"/proc/{worker.pid}/fd/{number}")
                            assert link.startswith("/tmp/"), (forker, link)


def a_worker_without_output_of_its_own_has_that_of_its_template(folder):
    for origin in every(folder):
        with Process(origin, 1, "3", 0, 1) as worker:
            with Process(origin, 2, "4", 1, 1) as other:
                output = [os.readlink(f"/proc/{pid}/fd/1") for pid in
                          (origin.process.pid, worker.pid, other.pid)]
                assert len(set(output)) == 1


def a_worker_has_no_descriptor_of_its_template(folder):
    for forker in FORKERS:
        with contrib.Worker(*forker) as plain:
            assert plain.heard() == b"READY"
            usual = json.loads(plain.ask(b""))["descriptors"]
        with template(forker) as origin:
            assert origin.heard() == b"READY"
            with Process(origin, 1, "3", 0), Process(origin, 2, "4", 1) as one:
                assert one.facts()["descriptors"] == usual


def an_ordinary_process_is_no_template(folder):
    for forker in FORKERS:
        with contrib.Worker(*forker) as plain:
            assert plain.heard() == b"READY"
            assert json.loads(plain.ask(b""))["forks"] == 0
            assert json.loads(plain.ask(b""))["slot"] == 3


def a_template_ends_by_stop_and_with_the_daemon(folder):
    for origin in every(folder):
        origin.end.send(b"STOP")
        assert origin.process.wait(10) == 0
    for origin in every(folder):
        with Process(origin, 1, "3", 0) as worker:
            origin.end.close()
            assert origin.process.wait(10) == 0
            assert worker.facts()["id"] == "3"


def a_worker_of_a_template_stops_as_others_do(folder):
    for origin in every(folder):
        with Process(origin, 1, "3", 0) as worker:
            worker.end.send(b"STOP")
            assert worker.ends() == 0


def a_worker_leaves_a_template_of_itself(folder):
    for origin in every(folder):
        with Process(origin, 1, "3", 0) as worker:
            drawn = worker.facts()["random"]
            with Process(worker, 2, "4", "template") as newer:
                with Process(newer, 3, "5", 7) as third:
                    said = third.facts()
                    assert (said["id"], said["slot"]) == ("5", 7)
                    assert said["random"] != drawn
                    # Of the worker before it as well.
                    assert said["forks"] == 2
                newer.end.send(b"STOP")
                assert newer.ends() == 0
            assert worker.facts()["id"] == "3"


def unable(forker, **options):
    """A process that cannot fork; root could."""
    return contrib.Worker(
        *forker,
        user=65534 if os.geteuid() == 0 else None,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (0, 0)),
        **options,
    )


def forkers_that_give_up():
    """Ruby tries again each second, for ever."""
    return [forker for forker in FORKERS if "ruby" not in forker[0]]


def ask_to_fork(process, slot):
    with socket.socket() as end:
        message = f"FORK 1 3 {slot}".encode()
        socket.send_fds(process.end, [message], [end.fileno()])


def a_template_that_cannot_fork_says_so_and_ends(folder):
    for forker in forkers_that_give_up():
        with unable(forker, environment=TEMPLATE) as origin:
            assert origin.heard() == b"READY"
            ask_to_fork(origin, 0)
            assert origin.heard().startswith(b"FAIL cannot fork: ")
            assert origin.process.wait(10) == 1


def a_worker_that_cannot_fork_goes_on(folder):
    for forker in forkers_that_give_up():
        with unable(forker) as worker:
            assert worker.heard() == b"READY"
            ask_to_fork(worker, "template")
            assert worker.heard() == b"FORKED 1 0"
            assert json.loads(worker.ask(b""))["slot"] == 3


def a_plain_worker_leaves_a_template_of_itself(folder):
    for forker in FORKERS:
        with contrib.Worker(*forker) as plain:
            assert plain.heard() == b"READY"
            with Process(plain, 1, "4", "template") as newer:
                with Process(newer, 2, "5", 1) as worker:
                    assert worker.facts()["forks"] == 1


def adopt_orphans():
    """Processes that others have forked become our children."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


if __name__ == "__main__":
    adopt_orphans()
    contrib.main(globals())
