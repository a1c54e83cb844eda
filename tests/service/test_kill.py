"""A killed service loses nothing that it acknowledged, and doubles no detection."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

import ethogram
from service.conftest import wait_for
from service.test_events import COLD, line
from waiting import PATIENCE_SECONDS


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def running(store: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "ethogram", "serve", "--store", str(store), "--port", str(port)]
    # A group of its own, so that the sweeper dies with it.
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)

    def answers() -> bool:
        assert process.poll() is None
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
        except httpx.TransportError:
            return False

    try:
        wait_for(answers)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def feed(url: str, round_: int, acknowledged: set[str], stop: threading.Event) -> None:
    """Send batches until the service is gone; note the ids that it acknowledged."""
    number = 0
    with httpx.Client(base_url=url, timeout=PATIENCE_SECONDS) as client:
        while not stop.is_set():
            subject = f"s{round_}-{number % 7}"
            lines = [line(f"{round_}-{number}-{k}", 1 + k, subject=subject) for k in range(3)]
            lines.append(line(f"{round_}-{number}-3", 4, subject=subject, readings=COLD))
            try:
                answer = client.post("/v1/events", content="\n".join(map(json.dumps, lines)))
            except httpx.TransportError:
                return
            if answer.status_code == 200:
                acknowledged.update(str(item["id"]) for item in lines)
            number += 1


def rounds(count: int, tmp_path: Path) -> None:
    store, acknowledged, rng = tmp_path / "killed.db", set[str](), random.Random(7)
    for round_ in range(count):
        port = free_port()
        with running(store, port) as process:
            stop = threading.Event()
            url = f"http://127.0.0.1:{port}"
            threads = [
                threading.Thread(target=feed, args=(url, 10 * round_ + k, acknowledged, stop)) for k in (0, 1)
            ]
            for thread in threads:
                thread.start()
            before = len(acknowledged)
            wait_for(lambda before=before: len(acknowledged) > before)
            threading.Event().wait(rng.uniform(0, 0.5))
            os.killpg(process.pid, signal.SIGKILL)
            for thread in threads:
                thread.join()
    port = free_port()
    with running(store, port):
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS)
        events = [json.loads(text) for text in client.get("/v1/export").text.splitlines()]
        ids = [event["id"] for event in events]
        assert len(ids) == len(set(ids))
        assert acknowledged <= set(ids)
        expected = {item.id for item in ethogram.analyze(events).detections}

        def stored() -> set[str]:
            seen: list[str] = []
            totals = set()
            while True:
                page = client.get("/v1/detections", params={"limit": 1000, "offset": len(seen)}).json()
                totals.add(page["total"])
                seen += [item["id"] for item in page["detections"]]
                if not page["detections"]:
                    break
            if len(totals) > 1:
                return set()  # the pages moved on while they were read
            assert len(seen) == len(set(seen))
            return set(seen)

        wait_for(lambda: expected <= stored())


def test_a_killed_service_loses_and_doubles_nothing(tmp_path: Path) -> None:
    rounds(1, tmp_path)


@pytest.mark.long
def test_fifty_kills(tmp_path: Path) -> None:
    rounds(50, tmp_path)


@pytest.mark.long
def test_memory_is_flat(tmp_path: Path) -> None:
    port, sizes = free_port(), list[float]()
    with running(tmp_path / "flat.db", port) as process, httpx.Client(timeout=PATIENCE_SECONDS) as client:
        for number in range(3_000):
            lines = [
                json.dumps(line(f"{number}-{k}", 1, subject=f"s{(number * 100 + k * 7) % 1000}"))
                for k in range(100)
            ]
            client.post(f"http://127.0.0.1:{port}/v1/events", content="\n".join(lines)).raise_for_status()
            if number % 100 == 0:
                pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
                sizes.append(pages * os.sysconf("SC_PAGE_SIZE") / 2**20)
    # The page cache of the store fills up to 16 MB in the first third; what comes after it stays.
    assert max(sizes) - sizes[10] < 8, sizes
