"""Every door says the same of the same events: what `analyze` of the sorted list says.

What differs stands in KNOWN with its reason. The list is exact: any other difference fails, and so does one
that is listed and occurs no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import naive
from doors import (
    MOMENT,
    RUNS,
    Cases,
    Difference,
    Hook,
    Known,
    analyzed,
    differences,
    faults,
    imported,
    message_rows,
    served,
    stored,
    swept,
    watched,
    write_cases,
)
from ethogram import read_events
from ethogram.app.readings import measured_events
from ethogram.config import Settings
from ethogram.models import Event
from ethogram.models.detection import base_pattern
from ethogram.patterns.library import SHIPPED, Library, load_patterns

SPOKEN = ("hook", "hook replay")
KNOWN = [
    Known(
        ("store", "store, bit by bit", "watch", "watch, later", "serve API", "serve store"),
        "crowd",
        "copied_text",
        ("evidence", "explanation", "extra"),
        6 * 201,
        "`analyze`, and the report of a sweep, join the detections of one text into one, which says what "
        "the last knows; a store and a watch have one for each of the 200 accounts.",
    ),
    Known(
        ("sweep without texts",),
        "*",
        "*_instruction",
        ("evidence", "lacking"),
        14,
        "A store without texts cannot measure which messages give orders to their reader.",
    ),
    Known(
        ("sweep without texts",),
        "*",
        "copied_text",
        ("lacking",),
        2,
        "A store without texts cannot measure who posts the same text.",
    ),
    Known(
        ("sweep without texts",),
        "crowd",
        "repeated_pressure",
        ("lacking",),
        1,
        "A store without texts cannot measure pressure in words.",
    ),
    Known(
        ("sweep without texts",),
        "darvo.6",
        "darvo",
        ("evidence", "severity"),
        2,
        "A store without texts cannot measure denials and attacks in words.",
    ),
    Known(
        ("sweep without texts",),
        "*run",
        "*",
        ("lacking",),
        9,
        "A store without texts keeps no commands, results and errors of agents.",
    ),
    Known(
        SPOKEN,
        "*",
        "*",
        ("id", "evidence", "explanation"),
        2 * 2 * 3,
        "A message of the hook names the pattern and tells the agent what to do: it has no id, no evidence "
        "and a text of its own.",
    ),
    Known(
        SPOKEN,
        "demo.run",
        "repetitive_errors",
        ("severity",),
        2,
        "A message has the severity of the moment it was said, and the episode rose afterwards.",
    ),
    Known(
        SPOKEN,
        "demo.run",
        "infrastructure_trouble",
        ("lacking",),
        2,
        "The hook says nothing below medium severity.",
    ),
    Known(
        SPOKEN,
        "demo.run",
        "loop",
        ("lacking",),
        2,
        "The hook speaks after a result, and what this example reads has none.",
    ),
    Known(
        SPOKEN,
        "run",
        "repetitive_errors",
        ("lacking",),
        2,
        "The hook speaks once about one step: of the loop, though the same calls are an error too, which "
        "becomes critical later.",
    ),
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    return write_cases(tmp_path_factory.mktemp("cases"))


def test_every_door_says_what_analyze_says(cases: Cases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names, now = cases.names, datetime.now(UTC)
    then, later = (analyzed(names, as_of, cases.ordered) for as_of in (MOMENT, now))
    fired = {base_pattern(row.pattern) for row in then.values()}
    assert fired.issuperset(names), "a pattern of which nothing is found says nothing of the doors"

    found = differences("analyze unsorted", then, analyzed(names, MOMENT, cases.mixed))

    store = imported(cases.mixed, tmp_path / "store.db", "--keep-text")
    found += differences("analyze a store", then, analyzed(names, MOMENT, "--store", store))
    found += differences("sweep", then, swept(store, names, MOMENT))
    found += differences("store", then, stored(store))
    bit_by_bit = tmp_path / "bit_by_bit.db"
    for half, as_of in enumerate((MOMENT, now)):
        imported(cases.half(half), bit_by_bit, "--keep-text")
        swept(bit_by_bit, names, as_of)
    found += differences("store, bit by bit", later, stored(bit_by_bit))
    without_texts = imported(cases.mixed, tmp_path / "without_texts.db")
    found += differences("sweep without texts", then, swept(without_texts, names, MOMENT))

    # Alone, a combination does not report its parts.
    combinations = [path.stem for path in (SHIPPED / "combination").glob("*.yaml")]
    path = cases.of(*combinations)
    alone = analyzed(combinations, MOMENT, path)
    assert {base_pattern(row.pattern) for row in alone.values()} == set(combinations)
    joined = imported(path, tmp_path / "joined.db", "--keep-text")
    found += differences("sweep", alone, swept(joined, combinations, MOMENT))
    found += differences("store", alone, stored(joined))
    (by_watch,) = watched(path, load_patterns(combinations), [MOMENT])
    found += differences("watch", alone, by_watch)

    at_moment, at_now = watched(cases.ordered, cases.library, (MOMENT, now))
    found += differences("watch", then, at_moment)
    found += differences("watch, later", later, at_now)

    by_api, in_store = served(cases.mixed, tmp_path / "serve.db", names)
    found += differences("serve API", later, by_api)
    found += differences("serve store", later, in_store)

    hook = Hook(tmp_path)
    patterns = hook.watched()
    for case in RUNS:
        path = cases.of(case)
        expected = {key: row for key, row in then.items() if row.case == case and row.pattern in patterns}
        messages, counts = hook.replay(path)
        found += differences("hook", expected, message_rows(case, hook.answer(path), expected))
        found += differences("hook replay", expected, message_rows(case, messages, expected))
        # Of what the hook detects a replay has counts only.
        assert counts["detections_by_analyze"] == len(expected)
        both = counts["detections_in_both"]
        found += [Difference("hook detections", case, "", "lacking")] * (len(expected) - both)
        found += [Difference("hook detections", case, "", "extra")] * (counts["detections"] - both)

    wrong = faults(found, KNOWN)
    assert not wrong, "\n".join(wrong)


def test_analyze_says_of_every_case_what_the_plain_reading_says(
    cases: Cases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An example with its own pattern and the parts of it, all others with every pattern."""
    monkeypatch.chdir(tmp_path)
    reference = analyzed(cases.names, MOMENT, cases.ordered)
    events: dict[str, list[Event]] = {}
    for event in read_events([str(cases.ordered)]).events:
        events.setdefault(event.source, []).append(event)
    del events["crowd"]  # `analyze` alone joins the detections of a crowd
    by_choice: dict[tuple[str, ...], list[str]] = {}
    for case in events:
        name = case.rpartition(".")[0]
        by_choice.setdefault((name,) if name in cases.names else cases.library.chosen, []).append(case)

    agreed = 0
    for choice, some in by_choice.items():
        read = PlainReading(replace(cases.library, chosen=choice))
        for case in some:
            rows = {
                key: (row.severity, tuple((entry["step"], entry["event"]) for entry in row.evidence))
                for key, row in reference.items()
                if row.case == case and row.pattern.partition("@")[0] in read.chosen
            }
            assert rows == read(events[case]), case
            agreed += len(rows)
    assert agreed > 200


class PlainReading:
    """What the plain reading detects of the chosen patterns in some events, by id."""

    def __init__(self, library: Library) -> None:
        self._programs = library.programs
        names = {program.name.partition("@")[0] for program in self._programs}
        self._patterns = [
            item for file in library.files.values() for item in file.patterns if item.name in names
        ]
        self.chosen = {item.name.partition("@")[0] for item in self._programs if library.is_chosen(item)}

    def __call__(self, events: Sequence[Event]) -> dict[str, Any]:
        measured, _ = measured_events(events, self._programs, Settings())
        detections, _ = naive.run(self._patterns, list(measured), as_of=MOMENT)
        return {
            item.id: (item.severity, item.evidence)
            for item in detections
            if item.pattern.partition("@")[0] in self.chosen
        }


def test_the_list_of_known_differences_is_exact():
    known = [Known(("watch",), "crowd", "copied*", ("extra",), 2, "it cannot know")]
    extra = Difference("watch", "crowd", "copied_text", "extra")
    assert faults([extra, extra], known) == []
    assert faults([extra], known) == ["differs 1 times, not 2 times: it cannot know"]
    assert faults([], known) == ["no longer differs, remove it from the list: it cannot know"]
    assert faults([extra._replace(what="severity")], []) == [
        "not in the list: 1 of Difference(door='watch', case='crowd', pattern='copied_text', what='severity')"
    ]
