"""Plays a trace to a pool, and compares what came of it with the simulation.

    replay.py trace              writes the trace: arrival,app,service
    replay.py play TRACE SOCKET CTL CONTROL >FOUND
                                 plays it; what the daemon did, in JSON
    replay.py compare FOUND SIMULATED SLACK
                                 prints the figures that do not agree

The trace is regular, without chance: quiet, a rush that needs some seven
processes, quiet again until most of them have stopped.

A machine that stands still for a moment, of which the simulation knows nothing,
makes clients late, and then a queue about as long.  What the latest of them
cannot account for by its place in the trace, its wait and its service is
therefore added to what may differ.
"""

import asyncio
import json
import subprocess
import sys
import time

# Seconds from and to, connections a second, seconds of service.
PHASES = ((0, 2, 5, 0.02), (2, 6, 50, 0.12), (6, 11, 4, 0.02))
SAMPLE = 0.25


def trace():
    print("arrival,app,service")
    for start, end, rate, service in PHASES:
        for i in range(int((end - start) * rate)):
            print(f"{start + (i + 0.5) / rate:.4f},web,{service}")


def read(path):
    with open(path, encoding="ascii") as lines:
        next(lines)
        for line in lines:
            at, _, service = line.split(",")
            yield float(at), float(service)


async def client(begin, at, service, path, waits, late):
    await asyncio.sleep(max(0, begin + at - time.monotonic()))
    reader, writer = await asyncio.open_unix_connection(path)
    writer.write(f"sleep {service * 1000:.0f}ms\n".encode())
    answer = await reader.readline()
    wait = int(answer.split()[4]) / 1e6
    waits.append(wait)
    late.append(time.monotonic() - begin - at - wait - service)
    writer.close()


def status(ctl, control):
    answer = subprocess.run(
        [ctl, "-s", control, "-j", "status"],
        check=True,
        capture_output=True,
    )
    return json.loads(answer.stdout)["apps"][0]


async def watch(begin, ctl, control, series):
    while True:
        app = await asyncio.to_thread(status, ctl, control)
        series.append((time.monotonic() - begin, app["processes"]))
        await asyncio.sleep(SAMPLE)


def at_rest(ctl, control):
    """The status when the last session that was answered is counted."""
    for _ in range(100):
        app = status(ctl, control)
        if app["active"] == 0:
            break
        time.sleep(0.05)
    return app


async def play(path, socket, ctl, control):
    waits, series, late = [], [], []
    before = status(ctl, control)
    begin = time.monotonic()
    watcher = asyncio.create_task(watch(begin, ctl, control, series))
    await asyncio.gather(
        *(client(begin, at, s, socket, waits, late) for at, s in read(path))
    )
    watcher.cancel()
    after = at_rest(ctl, control)
    waits.sort()
    print(
        json.dumps(
            {
                "spawned": after["spawned"] - before["spawned"],
                "waits": waits,
                "late": max(late),
                "series": series,
                "idle_while_waiting": after["idle_while_waiting"],
                "completed": after["completed"],
            }
        )
    )


def quantile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


def at_time(series, at):
    return min(series, key=lambda row: abs(row["at"] - at))["processes"]


def compare(found, simulated, slack):
    off = []
    pairs = [(n, at_time(simulated["series"], t)) for t, n in found["series"]]
    mean = sum(n for n, _ in pairs) / len(pairs)
    ours = sum(n for _, n in pairs) / len(pairs)
    apart = sum(abs(n - m) for n, m in pairs) / len(pairs)
    late = found["late"]
    print(f"late: {late:.4g}", file=sys.stderr)

    def check(what, daemon, simulation, tolerance):
        print(
            f"{what}: daemon {daemon:.4g}, simulation {simulation:.4g}, "
            f"tolerance {tolerance:.4g}",
            file=sys.stderr,
        )
        if abs(daemon - simulation) > tolerance:
            off.append(f"{what}: {daemon:.4g}, not {simulation:.4g}")

    spawned = simulated["spawned"] - simulated["spawned_before"]
    check("completed", found["completed"], simulated["completed"], 0)
    # While nobody comes five a second stop, and are started again.
    check("spawned", found["spawned"], spawned, 2 * slack + 5 * late)
    check("mean processes", mean, ours, 0.15 * ours * slack + late)
    check("processes apart at a time", apart, 0, 1.0 * slack + late)
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
        value = simulated["queue_wait"][name]
        tolerance = (0.03 + 0.25 * value) * slack + late
        check(name, quantile(found["waits"], share), value, tolerance)
    check("idle while waiting", found["idle_while_waiting"], 0, 0.05 * slack)
    print("\n".join(off))


def load(path):
    with open(path, encoding="utf-8") as text:
        return json.load(text)


if sys.argv[1] == "trace":
    trace()
elif sys.argv[1] == "play":
    asyncio.run(play(*sys.argv[2:6]))
else:
    compare(load(sys.argv[2]), load(sys.argv[3]), float(sys.argv[4]))
