"""A real service on a free port of this machine, with its sweeper."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from ethogram.service.app import create_app
from ethogram.service.options import ServeOptions
from ethogram.service.state import Service

Start = Callable[..., httpx.Client]


@contextmanager
def running(**options: Any) -> Iterator[tuple[Service, httpx.Client]]:
    """A service on a free port, and a client of it."""
    service = Service(ServeOptions(port=0, pause=0.05, **options))
    server = uvicorn.Server(uvicorn.Config(create_app(service), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
            yield service, client
    finally:
        server.should_exit = True
        thread.join(timeout=30)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a service with some options; returns a client of it. All are stopped at the end."""
    with ExitStack() as stack:

        def begin(**options: Any) -> httpx.Client:
            options.setdefault("store", str(tmp_path / "service.db"))
            return stack.enter_context(running(**options))[1]

        yield begin


@pytest.fixture
def client(start: Start) -> httpx.Client:
    """A client of a service on embedded defaults."""
    return start()


def wait_for(check: Callable[[], Any], seconds: float = 60) -> Any:
    """The first true value of a check."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := check():
            return value
        time.sleep(0.05)
    raise AssertionError(f"nothing after {seconds} seconds")
