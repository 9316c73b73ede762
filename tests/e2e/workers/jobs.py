"""Calls of functions, see job_functions.py: jobs.py FOLDER [FACT...]

Those of jobs_test.sh have a pool at FOLDER/web.sock, the others are served
here."""

import json
import os
import select
import socket
import sys
import threading

sys.path.insert(0, "contrib/workers")
import apppool_jobs  # noqa: E402

PATH = sys.argv[1] + "/web.sock"
LIMIT = 30


def pool(**options):
    return apppool_jobs.Pool(PATH, **options)


def results(futures):
    return [future.result(LIMIT) for future in futures]


def error_of(future):
    return str(future.exception(LIMIT))


def a_call_has_the_result_of_the_function():
    with pool() as jobs:
        assert jobs.call("add", 1, 2).result(LIMIT) == 3
        assert jobs.call("add", ["ä"], ["b"]).result(LIMIT) == ["ä", "b"]


def what_a_function_raises_is_the_error_of_its_call():
    with pool() as jobs:
        assert error_of(jobs.call("fail", "why")) == "RuntimeError: why"
        assert error_of(jobs.call("add", 1)).startswith("TypeError: ")
        assert "not JSON serializable" in error_of(jobs.call("odd"))
        for name in ("hidden", "missing", "__name__"):
            said = error_of(jobs.call(name))
            assert said == f"LookupError: no function '{name}'", said
        assert jobs.call("add", 1, 2).result(LIMIT) == 3


def each_process_is_started_once():
    with pool(connections=1) as jobs:
        for _ in range(3):
            assert jobs.call("started").result(LIMIT) == 1
            jobs.call("last").result(LIMIT)


def events_come_in_order_before_the_result():
    said = {name: [] for name in "abcdef"}
    with pool(connections=2, load=3, on_event=lambda name, number:
              said[name].append(number)) as jobs:
        futures = {name: jobs.call("count", name, 300) for name in said}
        for name, future in futures.items():
            future.add_done_callback(lambda _, name=name: said[name].append("end"))
        assert results(futures.values()) == [300] * 6
    assert said == {name: [*range(1, 301), "end"] for name in "abcdef"}


def a_call_without_on_event_has_no_events():
    call = b'{"function": "count", "arguments": ["a", 3]}\n'
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT)
        client.connect(PATH)
        client.sendall(call)
        client.shutdown(socket.SHUT_WR)
        said = [json.loads(line) for line in client.makefile("rb")]
        assert [int(reply["result"]) for reply in said] == [3], said


def an_on_event_that_fails_costs_no_result():
    with pool(on_event=lambda: None) as jobs:
        assert jobs.call("count", "a", 2).result(LIMIT) == 2


def a_function_is_told_that_its_caller_has_left():
    path = sys.argv[1] + "/left"
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT)
        client.connect(PATH)
        call = {"function": "write_until", "arguments": [path], "events": True}
        client.sendall(json.dumps(call).encode() + b"\n")
        assert json.loads(client.makefile("rb").readline())["event"]
    while not os.path.exists(path):
        select.select([], [], [], 0.01)
    os.unlink(path)


def bytes_travel_unchanged():
    for data in b"", bytes(range(256)), os.urandom(300001):
        said = []
        with pool(on_event=said.append) as jobs:
            twice = jobs.call("twice", data).result(LIMIT)
        assert twice == {"length": len(data), "twice": [data + data]}
        assert said == [data]


def the_key_of_bytes_is_reserved():
    with pool() as jobs:
        assert error_of(jobs.call("reserved")).endswith("the key $bytes is reserved")
        for value in {"$bytes": "eA=="}, {"a": {"b": b"", "$bytes": b""}}:
            try:
                jobs.call("size", value)
                assert False
            except ValueError:
                pass
        texts = ["$bytes", '{"$bytes": ""}', {"": "$bytes"}]
        assert jobs.call("add", texts, []).result(LIMIT) == texts


def asynchronous_functions_run_as_many_as_the_concurrency_at_a_time():
    # The app has concurrency = 4.
    with pool(connections=7, load=1) as jobs:
        pids = set(results([jobs.call("nap", 0.1) for _ in range(28)]))
        assert len(pids) == 1, pids
        assert jobs.call("most").result(LIMIT) == 4


def a_slow_caller_does_not_hold_up_others():
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(PATH)
        call = {"function": "size", "arguments": ["x" * 3_000_000]}
        line = json.dumps(call).encode() + b"\n"
        client.sendall(line[:1_000_000])
        with pool() as jobs:
            assert jobs.call("add", 1, 2).result(LIMIT) == 3
            client.sendall(line[1_000_000:])
            # Its answer is not read.
            assert jobs.call("nap", 0.3).result(LIMIT)
            assert jobs.call("add", 1, 2).result(LIMIT) == 3
        client.settimeout(LIMIT)
        with client.makefile("rb") as replies:
            assert json.loads(replies.readline())["result"][0] == 3_000_000


def what_a_function_leaves_behind_has_no_events():
    said = []
    with pool(connections=1, on_event=lambda *event: said.append(event)) as jobs:
        assert results([jobs.call("leave_behind", n) for n in range(9)]) == [
            *range(9)]
    assert said == [(n, 1) for n in range(9)], said


def a_function_that_is_cancelled_is_an_error():
    with pool() as jobs:
        assert error_of(jobs.call("cancelled")).startswith("CancelledError")
        assert jobs.call("add", 1, 2).result(LIMIT) == 3


def many_calls_are_in_flight():
    with pool(connections=4) as jobs:
        futures = [jobs.call("add", n, n) for n in range(1000)]
        assert results(futures) == [2 * n for n in range(1000)]
        assert len(set(results([jobs.call("nap", 0.1) for _ in range(40)]))) > 1


def calls_on_a_connection_are_answered_in_order():
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT)
        client.connect(PATH)
        for number in range(50):
            call = {"function": "add", "arguments": [number, 1]}
            client.sendall(json.dumps(call).encode() + b"\n")
        client.sendall(b"nonsense\n" + b'{"function": "add"')
        client.shutdown(socket.SHUT_WR)
        said = [json.loads(line) for line in client.makefile("rb")]
        assert said[:50] == [{"result": number + 1} for number in range(50)]
        assert [list(reply) for reply in said[50:]] == [["error"]]


def large_calls_and_results_pass_each_other():
    text = "x" * 400_000
    with pool(connections=2, load=3) as jobs:
        futures = [jobs.call("size", text) for _ in range(6)]
        assert results(futures) == [[len(text), text]] * 6


def a_call_that_is_too_long_ends_its_connection():
    with pool() as jobs:
        rest = len('{"function": "size", "arguments": [""]}\n')
        most = "x" * (apppool_jobs.LINE_MAX - rest)
        assert jobs.call("size", most).result(LIMIT)[0] == len(most)
        try:
            jobs.call("size", most + "x")
            assert False
        except ValueError:
            pass
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(LIMIT)
        client.connect(PATH)
        client.sendall(b" " * (apppool_jobs.LINE_MAX + 1))
        with client.makefile("rb") as replies:
            said = json.loads(replies.readline())
            assert said == {"error": "a call has at most 16777216 bytes"}
            assert replies.readline() == b""


def a_function_that_retires_is_the_last_of_its_process():
    with pool(connections=1) as jobs:
        for _ in range(5):
            retired = jobs.call("last").result(LIMIT)
            assert jobs.call("pid").result(LIMIT) != retired


def an_exception_can_ask_to_retire():
    with pool(connections=1) as jobs:
        before = jobs.call("pid").result(LIMIT)
        assert error_of(jobs.call("give_up", "enough")) == "Retire: enough"
        assert jobs.call("pid").result(LIMIT) != before


def calls_behind_one_that_retires_are_answered():
    with pool(connections=2, load=5) as jobs:
        futures = []
        for _ in range(20):
            futures.append(jobs.call("give_up", "enough"))
            futures += [jobs.call("add", n, 1) for n in range(19)]
        for number, future in enumerate(futures):
            if number % 20 == 0:
                assert error_of(future) == "Retire: enough"
            else:
                assert future.result(LIMIT) == number % 20


def a_connection_that_is_always_busy_is_left_after_a_while():
    # The app has max_requests = 1.
    with pool(connections=1, load=3) as jobs:
        futures = [jobs.call("nap", 0.05) for _ in range(50)]
        assert len(set(results(futures))) in (2, 3)


def of_a_process_that_dies_the_call_at_hand_alone_fails():
    with pool(connections=1, load=5) as jobs:
        jobs.call("nap", 0.1)
        death = jobs.call("die")
        futures = [jobs.call("add", n, 1) for n in range(20)]
        assert isinstance(death.exception(LIMIT), OSError)
        assert results(futures) == list(range(1, 21))


def a_connection_waits_at_a_busy_process():
    with pool(connections=2, load=1) as jobs:
        waits = [jobs.call("wait_for", sys.argv[1] + "/go") for _ in range(2)]
        assert len(set(results(waits))) == 1


def without_an_app_each_call_fails():
    with apppool_jobs.Pool(PATH + ".none") as jobs:
        futures = [jobs.call("add", n, n) for n in range(10)]
        for future in futures:
            assert isinstance(future.exception(LIMIT), FileNotFoundError)


def served_here(serve):
    """A listener of our own, whose connections the function gets."""
    path = sys.argv[1] + "/own.sock"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def run():
        with listener:
            serve(listener)
        os.unlink(path)

    thread = threading.Thread(target=run)
    thread.start()
    return path, thread


def as_many_calls_as_the_load_are_sent_before_an_answer():
    seen = []

    def serve(listener):
        connection, _ = listener.accept()
        with connection:
            for count in (3, 2):
                data = b""
                while data.count(b"\n") < count:
                    data += connection.recv(4096)
                # Nothing more comes, however long one waits.
                ready, _, _ = select.select([connection], [], [], 0.2)
                seen.append((data.count(b"\n"), ready))
                connection.sendall(b'{"result": 1}\n' * count)

    path, thread = served_here(serve)
    with apppool_jobs.Pool(path, connections=1, load=3) as jobs:
        assert results([jobs.call("x") for _ in range(5)]) == [1] * 5
    thread.join()
    assert seen == [(3, []), (2, [])]


def a_server_that_refuses_everybody_is_not_asked_for_ever():
    accepted = []

    def serve(listener):
        while len(accepted) < 3:
            accepted.append(listener.accept()[0])
            accepted[-1].close()

    path, thread = served_here(serve)
    with apppool_jobs.Pool(path, connections=1, load=3) as jobs:
        futures = [jobs.call("x") for _ in range(3)]
        for future in futures:
            assert isinstance(future.exception(LIMIT), OSError)
    thread.join()


for name in sys.argv[2:]:
    globals()[name]()
