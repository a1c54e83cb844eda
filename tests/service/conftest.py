"""A real service on a free port of this machine, with its sweeper or without."""

from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from ethogram.service import state
from ethogram.service.app import create_app
from ethogram.service.options import ServeOptions
from ethogram.service.state import Service
from waiting import PATIENCE_SECONDS, wait_until

Start = Callable[..., httpx.Client]


class Server(uvicorn.Server):
    """A server that stops at once where uvicorn looks ten times a second."""

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            await asyncio.sleep(0.01)


@contextmanager
def serving(app: Any) -> Iterator[int]:
    """The port on which an application is served."""
    server = Server(
        uvicorn.Config(
            app,
            port=0,
            log_level="critical",
            backlog=1000,
            ws="none",
            timeout_keep_alive=int(PATIENCE_SECONDS),
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(timeout=PATIENCE_SECONDS)


class NoSweeper:
    """Stands in for the process that detects, where a test is about requests only."""

    is_alive, is_busy = True, False

    def __init__(self, *_: object) -> None: ...

    def wake(self) -> None: ...

    def close(self) -> None: ...


@contextmanager
def running(*, detects: bool = True, **options: Any) -> Iterator[tuple[Service, httpx.Client]]:
    """A service on a free port, and a client of it."""
    with pytest.MonkeyPatch.context() as patch:
        if not detects:
            patch.setattr(state, "Sweeper", NoSweeper)
        service = Service(ServeOptions(port=0, pause=0.05, **options))
    with (
        serving(create_app(service)) as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_SECONDS) as client,
    ):
        yield service, client


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
    """A client of a service of its own that takes requests and detects nothing."""
    return start(detects=False)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of one service that detects, for all tests that look at what is theirs only."""
    store = str(tmp_path_factory.mktemp("shared") / "shared.db")
    with running(store=store, keep_text=True) as (_, client):
        yield client


@pytest.fixture
def detecting(shared: httpx.Client, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    """A client of the shared service whose events, and whatever it asks for, are of a source of their own."""

    source = f"{request.module.__name__}.{request.node.name}"

    def add_source(sent: httpx.Request) -> None:
        sent.url = sent.url.copy_merge_params({"source": source})

    with httpx.Client(
        base_url=shared.base_url, timeout=PATIENCE_SECONDS, event_hooks={"request": [add_source]}
    ) as client:
        yield client


def wait_for(check: Callable[[], Any]) -> Any:
    """The first true value of a check; a failure shows its source."""
    return wait_until(check, inspect.getsource(check).strip())
