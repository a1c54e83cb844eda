"""`python -m benchmarks service`: a real service under a steady load, and the page of a long history."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import httpx

from ethogram.cli.options import opt
from ethogram.cli.output import write_line
from ethogram.models import format_time

TRAITS = ("manipulation", "deception", "exploitation", "compassion", "fairness", "goodwill")
SENDERS = 16
LONG = 100_000
"""Events of the subject whose page is measured."""


def service(
    seconds: Annotated[int, opt("Load the service for this long.", metavar="N", min=5)] = 60,
    rate: Annotated[int, opt("Send this many events a second.", metavar="N", min=100)] = 5_000,
    batch: Annotated[int, opt("Send this many events in a request.", metavar="N", min=1)] = 100,
    subjects: Annotated[int, opt("Spread the events over this many subjects.", metavar="N", min=1)] = 1_000,
    port: Annotated[int, opt("Let the service listen on this port.", metavar="N")] = 18_799,
) -> None:
    """Send events to `ethogram serve` at a steady rate; then open the page of a long history."""
    with TemporaryDirectory(prefix="ethogram-service-") as folder:
        begun = time.perf_counter()
        with running(Path(folder) / "events.db", port) as process:
            write_line(f"ready after {time.perf_counter() - begun:.1f} s")
            client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
            load(client, process.pid, seconds, rate, batch, subjects)
            pages(client)


@contextmanager
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


def load(client: httpx.Client, pid: int, seconds: int, rate: int, batch: int, subjects: int) -> None:
    """Send at the rate, whatever the answers take; print latency, failures and memory."""
    rng, taken, failed, memory = random.Random(1), list[float](), 0, list[int]()

    def body(number: int) -> str:
        at = format_time(datetime.now(UTC))
        return "\n".join(
            json.dumps(
                {
                    "id": f"{number}-{k}",
                    "at": at,
                    "subject": f"s{rng.randrange(subjects)}",
                    "target": f"t{rng.randrange(10)}",
                    "readings": {trait: round(rng.random() / 2, 3) for trait in TRAITS},
                }
            )
            for k in range(batch)
        )

    def send(text: str) -> None:
        nonlocal failed
        begun = time.perf_counter()
        answer = client.post("/v1/events", content=text)
        taken.append(time.perf_counter() - begun)
        failed += answer.status_code != 200

    begun, number = time.perf_counter(), 0
    with ThreadPoolExecutor(SENDERS) as pool:
        while (now := time.perf_counter() - begun) < seconds:
            if number * batch <= now * rate:
                pool.submit(send, body(number))
                number += 1
                if number % max(1, rate // batch) == 0:
                    memory.append(resident(pid))
            else:
                time.sleep(0.001)
    took = time.perf_counter() - begun
    taken.sort()
    write_line(
        f"{len(taken) * batch / took:,.0f} events/s in batches of {batch} for {took:.0f} s; "
        f"median {1000 * taken[len(taken) // 2]:.0f} ms, 99 % {1000 * taken[int(len(taken) * 0.99)]:.0f} ms; "
        f"{failed} refused; memory {memory[len(memory) // 3] / 2**20:.0f} to {memory[-1] / 2**20:.0f} MB"
    )


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
