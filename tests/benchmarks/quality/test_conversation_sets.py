"""Sets of conversations: what each is, and which part may be tuned on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.conversation_sets import chosen_sets, half_of, read_sets, read_talks
from benchmarks.quality.separation import area_of, figures, recall_at
from ethogram.errors import BadEvents, BadUsage
from ethogram.risk.discrimination import threshold_at_rate


def line(name: str, label: int | None = None, text: str = "hello") -> str:
    turns = [
        {"speaker": "u", "role": "user", "text": text},
        {"speaker": "a", "role": "assistant", "text": "hi"},
    ]
    row: dict[str, Any] = {"conversation_id": name, "label": label, "labels": {}, "turns": turns}
    return json.dumps(row) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mtbench.jsonl").write_text(line("m1") + line("m2"))
    with gzip.open(tmp_path / "mine.jsonl.gz", "wt") as file:
        file.write(line("a", 1) + line("b", 0) + line("c", 0))
    (tmp_path / "bare.jsonl").write_text(line("x"))
    return tmp_path


def test_everybody_but_an_assistant_is_watched(folder: Path) -> None:
    (first, _) = read_talks(folder / "mtbench.jsonl")
    assert (first.id, first.label, first.said) == ("m1", None, ["hello"])


def test_the_parts_are_one_half_and_two_quarters() -> None:
    parts = [half_of(f"talk {k}") for k in range(4000)]
    counts = {name: parts.count(name) / 4000 for name in ("tune", "other", "report")}
    assert counts == {
        "tune": pytest.approx(0.5, abs=0.03),
        "other": pytest.approx(0.25, abs=0.03),
        "report": pytest.approx(0.25, abs=0.03),
    }


def test_a_set_of_which_nobody_says_is_told_by_its_labels(folder: Path) -> None:
    sets = list(read_sets(chosen_sets(folder, ["mine", "mtbench"]), "all"))
    assert [(item.name, item.kind, len(item.talks)) for item in sets] == [
        ("mine: 1", "attack", 1),
        ("mine: 0", "harmless", 2),
        ("mtbench", "harmless", 2),
    ]


def test_what_a_set_is_can_be_said(folder: Path) -> None:
    files = chosen_sets(folder, attacks=["bare"], harmless=["mine"])
    assert sorted((item.name, item.kind) for item in read_sets(files, "all")) == [
        ("bare", "attack"),
        ("mine", "harmless"),
    ]


def test_without_names_only_known_sets_are_looked_at(folder: Path) -> None:
    assert [file.name for file, _ in chosen_sets(folder)] == ["mtbench.jsonl"]


def test_a_set_without_labels_must_be_said_what_it_is(folder: Path) -> None:
    with pytest.raises(BadUsage, match="--attacks bare or --harmless bare"):
        list(read_sets(chosen_sets(folder, ["bare"]), "all"))


def test_every_line_that_is_no_conversation_is_told(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text(line("a") + "[]\n" + "{\n" + '{"conversation_id": "b"}\n')
    with pytest.raises(BadEvents) as told:
        read_talks(tmp_path / "bad.jsonl")
    assert [fault.line for fault in told.value.faults] == [2, 3, 4]


def test_scores_that_are_all_the_same_tell_nothing() -> None:
    made = figures([0.5] * 20, [0.5] * 30, draws=20)
    assert made["auroc"] == [0.5, 0.5, 0.5]
    assert made["recall_at_1"] == [0.0, 0.0, 0.0]


def test_recall_is_counted_above_a_limit_that_few_of_the_good_are_above() -> None:
    good = [k / 100 for k in range(100)]
    # One of a hundred may be above: the limit is the second highest.
    assert threshold_at_rate(good, 0.01) == 0.98
    assert recall_at([0.985, 0.5], good, 0.01) == 0.5
    assert area_of([2.0], good) == 1.0


def test_where_no_set_is_known_all_are_taken_by_their_labels(tmp_path):
    row = '{"id": "c%d", "label": %d, "messages": [{"speaker": "user", "content": "hi"}]}\n'
    (tmp_path / "ours.jsonl").write_text(row % (1, 1) + row % (2, 0))
    sets = list(read_sets(chosen_sets(tmp_path), "all"))
    assert [(item.name, item.kind, item.talks[0].said) for item in sets] == [
        ("ours: 1", "attack", ["hi"]),
        ("ours: 0", "harmless", ["hi"]),
    ]


def test_a_folder_without_sets_says_what_would_be_one(tmp_path):
    with pytest.raises(BadUsage, match="has no sets"):
        chosen_sets(tmp_path)
