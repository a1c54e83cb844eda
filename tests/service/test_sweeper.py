"""The process that sweeps: at once when something came, and not while nothing does."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from ethogram.service.options import ServeOptions
from ethogram.service.sweeper import Report, Sweeper
from ethogram.store import open_store
from waiting import wait_until


def test_it_sweeps_at_the_start_and_then_when_it_is_woken(tmp_path: Path) -> None:
    with ExitStack() as stack:

        def begin(name: str) -> tuple[Sweeper, list[Report]]:
            url, reports = str(tmp_path / name), list[Report]()
            open_store(url, create=True).close()
            sweeper = Sweeper(ServeOptions(store=url, patterns=("loop",), pause=0), reports.append)
            stack.callback(sweeper.close)
            wait_until(lambda: reports, f"the first sweep of {name}")
            return sweeper, reports

        sweeper, reports = begin("one.db")
        begin("two.db")  # takes as long as many sweeps
        swept = len(reports)
        assert swept < 5  # one, and on a slow machine one each half a minute
        sweeper.wake()
        wait_until(lambda: len(reports) > swept, "a sweep after it was woken")
