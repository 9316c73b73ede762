"""Functions for apppool-jobs(7), see jobs.conf; called if this is a program."""

import hashlib
import os
import sys

__all__ = ["add", "digest"]


def add(one, other):
    return one + other


def digest(text, rounds):
    """Something that takes a while."""
    data = text.encode()
    for _ in range(rounds):
        data = hashlib.sha256(data).digest()
    return {"digest": data.hex(), "process": os.getpid()}


def main():
    # To be copied, from where apppool-jobs is.
    sys.path.insert(0, "../../contrib/workers/")
    import apppool_jobs

    with apppool_jobs.Pool("/run/apppoold/jobs.sock", load=2) as pool:
        calls = [pool.call("digest", str(n), 200000) for n in range(20)]
        print("1 + 2 =", pool.call("add", 1, 2).result())
        for call in calls:
            print(call.result())


if __name__ == "__main__":
    main()
