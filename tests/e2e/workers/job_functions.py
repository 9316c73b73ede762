"""Functions for apppool-jobs."""

import os
import signal
import threading
import time

import apppool_jobs

__all__ = ["add", "count", "die", "fail", "give_up", "last", "nap", "odd",
           "pid", "reserved", "size", "started", "twice", "wait_for",
           "write_until"]

starts = []


def start():
    starts.append(os.getpid())


def start_fails():
    raise OSError("no database")


def started():
    return starts.count(os.getpid())


def add(one, other):
    return one + other


def size(text):
    return [len(text), text]


def pid():
    return os.getpid()


def nap(seconds):
    time.sleep(seconds)
    return os.getpid()


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.01)
    return os.getpid()


def twice(data):
    assert isinstance(data, bytes)
    apppool_jobs.event(data)
    return {"length": len(data), "twice": [data + data]}


def reserved():
    return {"$bytes": ""}


def count(name, most):
    for number in range(1, most + 1):
        apppool_jobs.event(name, number)
    return most


def write_until(path):
    """Sends events until nobody is there to take them."""
    try:
        while True:
            apppool_jobs.event("x" * 10000)
    except OSError:
        with open(path, "w"):
            pass


def fail(text):
    raise RuntimeError(text)


def odd():
    return threading.Lock()


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def last():
    apppool_jobs.retire()
    return os.getpid()


def give_up(text):
    raise apppool_jobs.Retire(text)


def hidden():
    return "not exported"
