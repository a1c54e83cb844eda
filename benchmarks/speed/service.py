"""`python -m benchmarks speed service`: a service under a steady load, and the page of a long history."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Annotated

import httpx

from ethogram.cli.options import opt
from ethogram.cli.output import write_line
from ethogram.models import format_time

TRAITS = ("manipulation", "deception", "exploitation", "compassion", "fairness", "goodwill")
SENDERS, TEMPLATES, SAMPLES = 16, 200, 20
LONG = 100_000
"""Events of the subject whose page is measured."""


def service(
    seconds: Annotated[int, opt("Load the service for this long.", metavar="N", min=5)] = 60,
    rate: Annotated[int, opt("Send this many events a second.", metavar="N", min=100)] = 6_000,
    batch: Annotated[int, opt("Send this many events in a request.", metavar="N", min=1)] = 100,
    subjects: Annotated[int, opt("Spread the events over this many subjects.", metavar="N", min=1)] = 1_000,
    port: Annotated[int, opt("Let the service listen on this port.", metavar="N")] = 18_799,
) -> None:
    """Send events to `ethogram serve` at a steady rate; then open the page of a long history."""
    with TemporaryDirectory(prefix="ethogram-service-") as folder:
        begun = time.perf_counter()
        with running(Path(folder) / "events.db", port) as process:
            write_line(f"ready after {time.perf_counter() - begun:.1f} s")
            load(port, process.pid, seconds, rate, batch, subjects)
            pages(httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60))


@contextlib.contextmanager
def running(store: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A service in a process of its own, once it answers."""
    command = [sys.executable, "-P", "-m", "ethogram", "serve", "--store", str(store), "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                if httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.05)
        yield process
    finally:
        process.terminate()
        process.wait()


def load(port: int, pid: int, seconds: int, rate: int, batch: int, subjects: int) -> None:
    """Send at the rate, whatever the answers take; print latency, failures and memory.

    A request counts from the moment it was due, so that one slow answer is not hidden by those that wait.
    """
    taken, failed = list[float](), 0
    queue: SimpleQueue[tuple[float, bytes] | None] = SimpleQueue()

    def send() -> None:
        nonlocal failed
        client = HTTPConnection("127.0.0.1", port, timeout=60)
        client.connect()
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while (item := queue.get()) is not None:
            due, body = item
            client.request("POST", "/v1/events", body)
            answer = client.getresponse()
            answer.read()
            taken.append(time.perf_counter() - due)
            failed += answer.status != 200

    senders = [Thread(target=send) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    memory = {name: [resident(process)] for name, process in processes(pid).items()}
    templates = bodies(batch, subjects)
    begun, total = time.perf_counter(), seconds * rate // batch
    for number in range(total):
        due = begun + number * batch / rate
        if (wait := due - time.perf_counter()) > 0:
            time.sleep(wait)
        at = format_time(datetime.now(UTC)).encode()
        template = templates[number % len(templates)]
        queue.put((due, template.replace(b"NUMBER", b"%d" % number).replace(b"TIME", at)))
        if number % max(1, total // SAMPLES) == 0:
            for name, process in processes(pid).items():
                memory.setdefault(name, []).append(resident(process))
    for _ in senders:
        queue.put(None)
    for sender in senders:
        sender.join()
    took = time.perf_counter() - begun
    taken.sort()
    write_line(
        f"{len(taken) * batch / took:,.0f} events/s in batches of {batch} for {took:.0f} s; "
        f"median {1000 * taken[len(taken) // 2]:.0f} ms, 99 % {1000 * taken[int(len(taken) * 0.99)]:.0f} ms; "
        f"{failed} refused"
    )
    for name, sizes in memory.items():
        write_line(f"memory of the {name}, MB: {' '.join(f'{size / 2**20:.0f}' for size in sizes)}")


def bodies(batch: int, subjects: int) -> list[bytes]:
    """Requests, but for their number and time: making one must not take the time of sending it."""
    rng = random.Random(1)
    return [
        "\n".join(
            json.dumps(
                {
                    "id": f"NUMBER-{k}",
                    "at": "TIME",
                    "subject": f"s{rng.randrange(subjects)}",
                    "target": f"t{rng.randrange(10)}",
                    "readings": {trait: round(rng.random() / 2, 3) for trait in TRAITS},
                }
            )
            for k in range(batch)
        ).encode()
        for _ in range(TEMPLATES)
    ]


def processes(pid: int) -> dict[str, int]:
    """The process that takes requests, and the one that detects: a child of its helper (Linux)."""
    parents = {}
    for item in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(item.parent.name)] = int(item.read_text().rpartition(")")[2].split()[1])
    sweeper = [child for child, parent in parents.items() if parents.get(parent) == pid]
    return dict(zip(("service", "sweeper"), [pid, *sweeper], strict=False))


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


def pages(client: httpx.Client) -> None:
    """The time of a subject's page with a long history."""
    end = datetime.now(UTC)
    for start in range(0, LONG, 10_000):
        lines = [
            json.dumps(
                {
                    "id": f"long-{n}",
                    "at": format_time(end - timedelta(minutes=LONG - n)),
                    "subject": "long",
                    "readings": {"manipulation": n % 10 / 20, "compassion": 0.5},
                }
            )
            for n in range(start, start + 10_000)
        ]
        client.post("/v1/events?source=long", content="\n".join(lines))
    client.get("/subjects/long/long")
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        client.get("/subjects/long/long").raise_for_status()
        times.append(time.perf_counter() - begun)
    write_line(f"the page of a subject with {LONG:,} events: {1000 * sorted(times)[2]:.0f} ms")
