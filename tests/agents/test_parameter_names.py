"""Every parameter of runs under its usual name: the table in docs/runs.md against the code."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from ethogram.config import Settings
from ethogram.language.yaml_source import plain, read_yaml_file
from ethogram.patterns.library import places_of

PAGE = Path(__file__).parents[2] / "docs" / "runs.md"
WANTED = [
    "window_size",
    "threshold",
    "normalization_level",
    "allowed_expansion_ratio",
    "critical_paths",
    "inference_enabled",
    "alignment_threshold",
    "trend_window",
    "semantic_analysis",
    "growth_threshold",
    "measurement_window",
    "resources_monitored",
    "limits",
    "wandering_threshold",
    "max_unique_directories",
    "backtrack_limit",
    "min_occurrences",
    "detection_confidence",
    "verify_references",
]


def rows() -> dict[str, str]:
    """Name to what the table says about where it is set."""
    section = PAGE.read_text().partition("## Parameters")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE))


def test_every_usual_name_has_its_row_and_no_other():
    assert sorted(rows()) == sorted(WANTED)


@pytest.mark.parametrize("name", WANTED)
def test_it_is_set_where_the_table_says(name: str):
    where = rows()[name]
    quoted = re.findall(r"`(\w+)`", where)
    if where.startswith("setting"):
        assert (quoted or [name])[0] in {field.name for field in fields(Settings)}
        return
    assert where.startswith("parameter of")
    assert quoted
    places = places_of((), ())
    for pattern in quoted:
        told = plain(read_yaml_file(places[pattern]))
        assert name in told["parameters"], pattern
        rest = {key: value for key, value in told.items() if key not in ("parameters", "examples")}
        assert re.search(rf"\b{name}\b", str(rest)), f"{pattern} does not use {name}"
