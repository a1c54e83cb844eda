"""Finding patterns: by name, glob, file or folder, with the parts they need, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ethogram.errors import BadPattern
from ethogram.models.constants import ACTIVE_STATUSES
from ethogram.models.slotted import replace
from ethogram.patterns.catalogue import load_vocabulary
from ethogram.patterns.library import load_patterns, with_parts

PART = """\
name: {name}
title: Warm
description: Warmth.
shape: {{sequence: [{{warm: compassion > 0.5}}]}}
confidence: 1
severity: low
examples:
  fires: [{{story: warm, compassion: [0.9], at: 1}}]
  quiet: [{{story: cold, compassion: [0.1]}}, {{story: cool, compassion: [0.2]}}]
"""
BOTH = """\
name: {name}
title: Both
description: Both.
shape: {{all_of: [{parts}], within: 1h}}
severity: low
examples:
  fires: [{{story: warm, compassion: [0.9], at: 1}}]
  quiet: [{{story: cold, compassion: [0.1]}}, {{story: cool, compassion: [0.2]}}]
"""


def part(folder: Path, name: str) -> None:
    (folder / f"{name}.yaml").write_text(PART.format(name=name))


def both(folder: Path, name: str, *parts: str) -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(BOTH.format(name=name, parts=", ".join(parts)))
    return path


def test_a_name_reads_that_pattern_alone():
    assert list(load_patterns(["love_bombing"]).files) == ["love_bombing"]


def test_a_folder_may_be_named_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("code").mkdir()
    part(Path("code"), "one")
    for selector in ("code", Path("code"), "code/one.yaml", "./code"):
        assert load_patterns([selector]).chosen == ("one",)


def test_a_combination_finds_its_parts_beside_it(tmp_path: Path):
    part(tmp_path, "one")
    part(tmp_path, "two")
    library = load_patterns([both(tmp_path, "pair", "one", "two")])
    assert library.chosen == ("pair",)
    assert sorted(library.files) == ["one", "pair", "two"]


def test_an_unknown_part_is_told_where_it_stands_and_hides_no_circle(tmp_path: Path):
    part(tmp_path, "one")
    both(tmp_path, "pair", "one", "tow")
    both(tmp_path, "left", "one", "right")
    both(tmp_path, "right", "one", "left")
    with pytest.raises(BadPattern) as raised:
        load_patterns([tmp_path])
    told = [str(fault).removeprefix(f"{tmp_path}/") for fault in raised.value.faults]
    assert told == [
        "left.yaml:4:18: left is made of itself, directly or through others",
        "pair.yaml:4:23: pair refers to an unknown pattern 'tow'",
        "right.yaml:4:18: right is made of itself, directly or through others",
    ]


def test_the_settings_of_a_folder_are_no_pattern(tmp_path: Path):
    part(tmp_path, "one")
    (tmp_path / "ethogram.yaml").write_text("source: here\n")
    assert load_patterns([tmp_path]).chosen == ("one",)


def test_a_file_of_yours_takes_the_place_of_a_shipped_one(tmp_path: Path):
    part(tmp_path, "love_bombing")
    assert load_patterns(more=[tmp_path]).files["love_bombing"].title == "Warm"


@pytest.mark.parametrize(
    ("selector", "says"),
    [
        ("lov_bombing", "no pattern is named 'lov_bombing'; did you mean 'love_bombing'?"),
        ("xyz", "no pattern is named 'xyz'; `ethogram patterns list` lists them"),
        ("love_bombing,darvo", "expected one name; repeat --patterns for more"),
        ("empty", "is a folder without pattern files"),
        ("none/there", "no such file or folder"),
        ("none.yaml", "none.yaml: cannot be read: No such file or directory"),
    ],
)
def test_what_is_not_there_is_said(selector: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadPattern) as raised:
        load_patterns([selector])
    assert says in str(raised.value)


def test_the_default_patterns_are_those_that_their_status_turns_on():
    every = load_patterns(any_status=True)
    assert {file.status for file in every} >= {"stable", "experimental"}
    default = load_patterns()
    assert default.chosen == tuple(file.name for file in every if file.status in ACTIVE_STATUSES)
    # Only what is needed is read: those that are on, and parts of combinations.
    needed = with_parts(every.files, default.chosen)
    assert default.files == {name: every.files[name] for name in needed}


def test_settings_turn_a_shipped_experimental_pattern_on():
    off = next(file.name for file in load_patterns(any_status=True) if file.status == "experimental")
    assert off in load_patterns(status={off: "stable"}).chosen


def test_loading_writes_no_cache(tmp_path: Path):
    """And reads none: what a cache held could be run."""
    code = "import sys; from ethogram.patterns.library import load_patterns as f; f(); print(*sys.modules)"
    places = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | places,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert list(tmp_path.iterdir()) == []
    assert "pickle" not in run.stdout.split()


@pytest.mark.parametrize("name", ["x" * 300, "a/" + "x" * 300, "a\0b"])
def test_a_name_that_cannot_be_a_path_is_no_pattern(name: str):
    with pytest.raises(BadPattern, match="no pattern"):
        load_patterns([name])


def test_a_process_reads_a_shipped_pattern_once():
    first = load_patterns(["loop"]).files["loop"]
    assert load_patterns(["loop"]).files["loop"] is first
    # With other names or numbers it is another pattern.
    other = load_patterns(["loop"], vocabulary=load_vocabulary({"mine": "number"})).files["loop"]
    assert "mine" in other.vocabulary.signals
    assert (
        load_patterns(["loop"], parameters={"loop": {"in_a_row": 4}}).files["loop"].parameters["in_a_row"]
        == 4
    )
    assert load_patterns(["loop"]).files["loop"] == first


def test_a_file_of_yours_is_read_anew_each_time(tmp_path: Path):
    part(tmp_path, "own")
    assert load_patterns([tmp_path / "own.yaml"]).files["own"].title == "Warm"
    text = (tmp_path / "own.yaml").read_text()
    (tmp_path / "own.yaml").write_text(text.replace("title: Warm", "title: Mild"))
    assert load_patterns([tmp_path / "own.yaml"]).files["own"].title == "Mild"


def test_without_examples_a_shipped_pattern_is_the_same():
    whole, without = (load_patterns(any_status=True, examples=examples).files for examples in (True, False))
    assert whole.keys() == without.keys()
    for name, file in without.items():
        data = {key: value for key, value in whole[name].data.items() if key != "examples"}
        assert file == replace(whole[name], examples=(), data=data)
