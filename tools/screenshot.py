"""Writes the picture of a report that the README shows: python tools/screenshot.py docs/images/report.png"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from browser import browser
from ethogram.app.demo import EXAMPLES
from ethogram.cli.main import main

SIZE = {"width": 1000, "height": 900}
POINT = "a.point >> nth=-1"


def take(path: Path) -> None:
    """The picture of the conversation's report, with the event of its last point shown."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        events = str(EXAMPLES / "conversation.jsonl")
        assert main(["analyze", events, "--excerpts", "--html", str(page)]) == 0
        with browser() as started:
            opened = started.new_page(viewport=SIZE, color_scheme="light")
            opened.goto(page.as_uri())
            opened.focus(POINT)
            path.parent.mkdir(parents=True, exist_ok=True)
            opened.screenshot(path=str(path))


if __name__ == "__main__":
    take(Path(sys.argv[1]))
