"""Functions for apppool-jobs, some of which are asynchronous."""

import asyncio
import os

import apppool_jobs
import job_functions
from job_functions import *  # noqa: F403

__all__ = [*job_functions.__all__, "cancelled", "leave_behind", "most"]

running = 0
most_running = 0


async def start():
    await asyncio.sleep(0.01)
    job_functions.start()


async def nap(seconds):
    global running, most_running
    running += 1
    most_running = max(most_running, running)
    await asyncio.sleep(seconds)
    running -= 1
    return os.getpid()


def most():
    return most_running


async def count(name, most):
    for number in range(1, most + 1):
        apppool_jobs.event(name, number)
        if number % 100 == 0:
            await asyncio.sleep(0)
    return most


async def write_until(path):
    try:
        while True:
            apppool_jobs.event("x" * 10000)
            await asyncio.sleep(0)
    except OSError:
        with open(path, "w"):
            pass


async def leave_behind(name):
    """A task that sends an event when the function has ended."""
    async def later():
        apppool_jobs.event(name, 2)

    apppool_jobs.event(name, 1)
    leave_behind.task = asyncio.get_running_loop().create_task(later())
    return name


async def cancelled():
    task = asyncio.create_task(asyncio.sleep(60))
    task.cancel()
    await task
