"""Writes the pictures of the README and the docs: python tools/screenshot.py docs/images"""

from __future__ import annotations

import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from browser import browser
from ethogram.service.app import create_app
from ethogram.service.demo import fill
from ethogram.service.options import ServeOptions
from ethogram.service.state import Service

SIZE = {"width": 1000, "height": 900}
PAGES = {
    "inbox": "/",
    "subject": "/subjects/demo-usage/ana",
    "run": "/runs/demo-run/run-1",
}
"""Pages of the dashboard, with the examples in it."""
SECONDS = 60.0


def take_dashboard(started: Any, folder: Path) -> None:
    """The pictures of the dashboard."""
    with dashboard() as address:
        opened = started.new_page(viewport=SIZE, color_scheme="light")
        for name, page in PAGES.items():
            opened.goto(f"{address}{page}")
            opened.screenshot(path=str(folder / f"{name}.png"))


@contextmanager
def dashboard() -> Iterator[str]:
    """The address of a service that has detected what is in the examples."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        service = Service(ServeOptions(store=f"{folder}/demo.db", keep_text=True, port=free.getsockname()[1]))
        fill(service)
        server = uvicorn.Server(uvicorn.Config(create_app(service), log_level="warning"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [free]}, daemon=True)
        thread.start()
        end = time.monotonic() + SECONDS
        while service.last_report is None or not service.store.find_detections(limit=1)[1]:
            assert time.monotonic() < end, "nothing was detected"
            time.sleep(0.1)
        try:
            yield service.options.url
        finally:
            server.should_exit = True
            thread.join(timeout=30)


if __name__ == "__main__":
    images = Path(sys.argv[1])
    images.mkdir(parents=True, exist_ok=True)
    with browser() as one:
        take_dashboard(one, images)
