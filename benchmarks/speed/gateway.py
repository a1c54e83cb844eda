"""`python -m benchmarks.speed.gateway`: what a turn costs more through `ethogram proxy` than without it.

A scripted chat API answers after a set time, in a process of its own. Each turn is asked once directly and
once through the gateway, so that both meet the same load; the figure is the difference. The processor time of
the gateway does not depend on that load (Linux).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

QUESTIONS = (
    "Hello! What can you tell me about growing tomatoes on a balcony?",
    "How much water do they need in a hot week, and at what time of the day?",
    "Some leaves have brown spots now. What could that be, and is it dangerous for the other plants?",
    "Which remedies work without chemicals, and how often would I have to use them?",
)
ANSWER = "That depends on the place and the weather; most people begin with a little and watch what happens. "


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float) -> None:
    """Answer requests of one connection after so many seconds each."""
    message = {"role": "assistant", "content": ANSWER * 3}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    head = {"id": "x", "object": "chat.completion", "created": 1, "model": "stub"}
    body = json.dumps({**head, "choices": [choice]}).encode()
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            header = await reader.readuntil(b"\r\n\r\n")
            lines = header.lower().split(b"\r\n")
            length = next((line for line in lines if line.startswith(b"content-length:")), b":0")
            await reader.readexactly(int(length.partition(b":")[2]))
            await asyncio.sleep(seconds)
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
            writer.write(b"content-length: %d\r\n\r\n" % len(body) + body)
            await writer.drain()
    writer.close()


async def serve(port: int, seconds: float) -> None:
    """The scripted chat API."""
    server = await asyncio.start_server(lambda r, w: answer(r, w, seconds), "127.0.0.1", port, backlog=1000)
    async with server:
        await server.serve_forever()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextlib.contextmanager
def running(command: Sequence[str], port: int) -> Iterator[int]:
    """The process id of a server, once it listens."""
    process = subprocess.Popen([sys.executable, "-P", *command], stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()  # SIGINT is ignored by what a shell runs in the background
        process.wait(30)


async def ask(client: httpx2.AsyncClient, port: int, history: list[dict[str, Any]]) -> float:
    """Milliseconds until a whole answer is there."""
    begun = time.perf_counter()
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    response = await client.post(url, json={"model": "stub", "messages": history})
    response.raise_for_status()
    return (time.perf_counter() - begun) * 1000


async def converse(
    client: httpx2.AsyncClient, ports: Sequence[int], name: str, turns: int
) -> list[list[float]]:
    """Milliseconds of each turn by port."""
    times: list[list[float]] = [[] for _ in ports]
    history: list[dict[str, Any]] = []
    for turn in range(turns):
        question = f"{QUESTIONS[turn % len(QUESTIONS)]} ({name}, {turn})"
        history.append({"role": "user", "content": question})
        for place, port in enumerate(ports):
            times[place].append(await ask(client, port, history))
        history.append({"role": "assistant", "content": ANSWER * 3})
    return times


def processor_ms(pid: int) -> float:
    """Milliseconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


async def measure(direct: int, gateway: int, pid: int, conversations: int, turns: int) -> None:
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=1000)
    async with httpx2.AsyncClient(timeout=120, limits=limits, trust_env=False) as client:
        await converse(client, (direct, gateway), "warm-up", 3)
        used = processor_ms(pid)
        times = [
            await converse(client, (direct, gateway), str(number), turns) for number in range(conversations)
        ]
        used = (processor_ms(pid) - used) / (conversations * turns)
        straight = [value for one in times for value in one[0]]
        through = [value for one in times for value in one[1]]
        added = sorted(after - before for before, after in zip(straight, through, strict=True))
        print(f"  directly {statistics.median(straight):.1f} ms, through {statistics.median(through):.1f} ms")
        print(f"  added: median {added[len(added) // 2]:.1f} ms, p95 {added[int(len(added) * 0.95)]:.1f} ms")
        print(f"  processor time of the gateway: {used:.1f} ms a turn, its answer included")
        begun = time.perf_counter()
        many = await asyncio.gather(
            *(converse(client, (gateway,), f"crowd {number}", 3) for number in range(200))
        )
        seconds = time.perf_counter() - begun
        flat = sorted(value for one in many for value in one[0])
        print(f"  200 conversations at once: {len(flat) / seconds:.0f} turns/s, median {flat[300]:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", nargs=2, metavar=("PORT", "SECONDS"), help=argparse.SUPPRESS)
    parser.add_argument("--conversations", type=int, default=20)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.05, help="how long the upstream takes")
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve(int(options.serve[0]), float(options.serve[1])))
        return
    direct = free_port()
    upstream = [__file__, "--serve", str(direct), str(options.seconds)]
    with running(upstream, direct), TemporaryDirectory() as folder:
        for mode, store in (("pass", ""), ("annotate", ""), ("annotate", "a.db"), ("refuse", "r.db")):
            port = free_port()
            command = ["-m", "ethogram", "proxy", "--upstream", f"http://127.0.0.1:{direct}"]
            command += ["--port", str(port), "--mode", mode]
            command += ["--store", str(Path(folder) / store)] if store else []
            with running(command, port) as pid:
                print(f"--mode {mode}{' with a store' if store else ''}")
                asyncio.run(measure(direct, port, pid, options.conversations, options.turns))


if __name__ == "__main__":
    main()
