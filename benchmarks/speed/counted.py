"""The work whose instructions are counted, for `instructions.py`: runs under valgrind, in a folder of inputs.

The first part is a command from the start of its process. Each further part runs in a fork of what that
left, so that what all of them load is paid for once and their own work stands out; `NOTHING` has no work.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

NOTHING = "nothing"
PLAIN = "plain Python"
FIRST = "`analyze` 5 lines"
PARQUET = ("`analyze` 6,000 Parquet rows without ids", "the same rows again", "24,000 rows after them")
COPIES = ("`analyze` 300 copies of a text", "1,200 copies after them")
FILES = (("rows.parquet", "rows4.parquet"), ("copies.jsonl", "copies4.jsonl"))
"""For each of the two a file, and one with four times as much: each read after the first was."""
CHAT = "20 turns of a chat, 480 characters each"
SWEEP = "`sweep` with nothing new"
LIVE = "`Watch.observe`, 500 events"
LONG_TEXT = "We could meet at the station and walk home together before it rains, if you have the time. " * 5
PARTS = "parts.jsonl"
"""The file with the process id of each part."""
Work = Callable[[], object]


def main() -> None:
    """Run every part, and write which process ran it."""
    command("analyze", "five.jsonl")
    fork(FIRST)

    import pyarrow.parquet  # noqa: F401

    from ethogram import Conversation, Watch

    conversation, watch = Conversation("counted"), Watch()
    conversation.turn(LONG_TEXT)
    observe(watch, 5)
    fork(NOTHING)
    fork(PLAIN, plain_python)
    for (first, *again, larger), (file, four) in zip((PARQUET, COPIES), FILES, strict=True):
        after = [*((name, partial(analyze, file)) for name in again), (larger, partial(analyze, four))]
        fork(first, partial(analyze, file), after)
    fork(CHAT, lambda: [conversation.turn(f"{k}. {LONG_TEXT}") for k in range(20)])
    fork(SWEEP, lambda: command("sweep", "--store", "events.db"))
    fork(LIVE, lambda: observe(watch, 500))


def fork(name: str, work: Work = lambda: None, after: Sequence[tuple[str, Work]] = ()) -> None:
    """Run a part in a process of its own, then each of those after it in a fork of what it left."""
    pid = os.fork()
    if not pid:
        try:
            work()
            write_pid(name)
            for part in after:
                fork(*part)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        sys.exit(f"{name} failed")


def write_pid(name: str) -> None:
    """Say that this process runs a part."""
    with Path(PARTS).open("a", encoding="utf-8") as file:
        print(json.dumps([name, os.getpid()]), file=file)


def analyze(file: str) -> None:
    """Run `ethogram analyze` with a file."""
    command("analyze", file, "--json")


def command(*args: str) -> None:
    """Run `ethogram` in this process."""
    from ethogram import entry

    sys.argv = ["ethogram", *args]
    if code := entry.main():
        raise SystemExit(f"{args} exited with {code}")


def observe(watch: object, number: int) -> None:
    """So many scored events of ten subjects, one after the other."""
    from ethogram import Event

    start = datetime(2026, 1, 1, tzinfo=UTC)
    for k in range(number):
        scores = {
            "manipulation": k * 37 % 101 / 100,
            "compassion": k * 53 % 101 / 100,
            "deception": k % 11 / 10,
        }
        event = Event(
            id=f"{number}.{k}", at=start + timedelta(minutes=k), subject=f"s{k % 10}", target="t", seq=k,
            kind="message", readings=scores,
        )  # fmt: skip
        watch.observe(event)  # type: ignore[attr-defined]


def plain_python() -> None:
    """Work that is no part of the package, to tell how many instructions this Python takes for the same."""
    words: Counter[str] = Counter()
    for k in range(600):
        record = {"id": k, "text": f"record {k} of plain work " * 5, "values": [n / 7 for n in range(k % 20)]}
        copy = json.loads(json.dumps(record, sort_keys=True))
        words.update(re.findall(r"\w+", copy["text"]))
        sorted(copy["values"], key=lambda value: -value)


if __name__ == "__main__":
    main()
