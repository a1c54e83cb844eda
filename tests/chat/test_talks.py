"""Talks in other fields: most climbs are found, hardly an innocent look-alike is suspected."""

from __future__ import annotations

from pathlib import Path

import pytest

from ethogram.chat.records import Mode
from recorded_conversations import highest, run

HERE = Path(__file__).parent


def talks(name: str) -> list[tuple[bool, list[str]]]:
    """Pairs of whether a talk climbs, and its turns."""
    lines = [line for line in (HERE / name).read_text("utf-8").splitlines() if not line.startswith("#")]
    blocks = [block.split("\n") for block in "\n".join(lines).strip().split("\n\n")]
    return [(first.startswith("+"), [first[2:], *rest]) for first, *rest in blocks]


@pytest.mark.parametrize("embedder", [None, "static"])
@pytest.mark.parametrize("name", ["other_talks.txt", "more_talks.txt", "last_talks.txt"])
def test_climbs_are_found_and_look_alikes_are_not_suspected(name: str, embedder: str | None):
    record: dict[bool, list[Mode]] = {True: [], False: []}
    for climbs, said in talks(name):
        record[climbs].append(highest(run([("user", text) for text in said], embedder)))
    assert sum(mode >= Mode.ELEVATED for mode in record[True]) >= 0.7 * len(record[True])
    assert sum(mode <= Mode.CAUTIOUS for mode in record[False]) >= 0.8 * len(record[False])
    assert max(record[False]) < Mode.SUSPECT
