"""Listen until a signal says stop, then let streams end and the program close what it opened."""

from __future__ import annotations

import contextlib
import gc
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import uvicorn

from ..errors import BadUsage

KEEP_ALIVE = 75
"""Seconds that an unused connection stays open: a client that is about to use it again shall not lose it."""
SWITCH = 0.0005
"""Seconds after which a thread that works lets the one that answers go on; Python's own are 0.005."""
GRACE = 10
"""Seconds for requests under way when the server stops."""


class Server(uvicorn.Server):
    """A server that says at once when it is told to stop: streams would keep it open otherwise."""

    def __init__(self, config: uvicorn.Config, on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._on_stop()
        super().handle_exit(sig, frame)


def bind(host: str, port: int) -> socket.socket:
    """A socket on an address; BadUsage where it cannot be had."""
    # With its protocol: asyncio turns off the delay of small packets (40 ms) only where it knows it.
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except (OSError, UnicodeError) as error:
        bound.close()
        why = getattr(error, "strerror", None) or error
        raise BadUsage(f"cannot listen on {host}, port {port}: {why}: see --host and --port") from None
    return bound


def listen(
    app: Any, bound: socket.socket, *, on_stop: Callable[[], None] = lambda: None, **options: Any
) -> None:
    """Serve an application until Ctrl-C (KeyboardInterrupt) or SIGTERM (returns)."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        timeout_keep_alive=KEEP_ALIVE,
        **options,
    )
    # What is loaded stays: do not look for garbage among it while a request waits.
    gc.freeze()
    sys.setswitchinterval(SWITCH)
    with _terminating():
        Server(config, on_stop).run([bound])


@contextlib.contextmanager
def _terminating() -> Iterator[None]:
    """Let SIGTERM end the program like any other end: the server raises the signal again once it stopped."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except _Terminated:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


class _Terminated(BaseException):
    """SIGTERM."""


def _stop(*_: object) -> None:
    raise _Terminated
