"""tools/quality.py: figures go between their marks, and nothing else of the page changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ethogram.modes.plant import plant
from ethogram.modes.plant_episode import Setting
from quality import PAGE, planted, runs, write


def test_a_section_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = "<!-- runs: written by tools/quality.py -->", "<!-- end of runs -->"
    page.write_text(f"before\n{marks[0]}\nold\n{marks[1]}\nafter\n")
    write(page, "runs", ["new", "lines"])
    assert page.read_text() == f"before\n{marks[0]}\nnew\nlines\n{marks[1]}\nafter\n"
    with pytest.raises(SystemExit, match="no place for the section planted"):
        write(page, "planted", ["new"])


def test_the_page_has_a_place_for_every_section() -> None:
    for section in ("runs", "planted"):
        said = PAGE.read_text("utf-8")
        assert said.index(f"<!-- {section}: written by tools/quality.py -->") < said.index(
            f"end of {section}"
        )


def test_false_alarms_have_a_column_for_each_level() -> None:
    alarms = {"good_runs": 9, "any": 5, "medium": 3, "high": 1}
    made = {"runs": 9, "patterns": {}, "false_alarms": alarms}
    said = list(runs({"false_alarms": alarms, "sets": {"made": made}}, "d1", "c1"))
    assert "| all | 9 | 5 | 3 | 1 |" in said
    assert "commit `c1`; data `d1`" in said[0]


def test_planted_figures_say_how_they_were_got() -> None:
    done = plant("loop", episodes=2, seed=7, setting=Setting(gaps=0))
    said = "\n".join(planted(done, done, "made", "d1", "c1"))
    for part in (
        "--episodes 2 --seed 7",
        "commit `c1`",
        "data `d1`",
        "background `made`",
        "seed 7",
        "`loop`",
    ):
        assert part in said
    # Two of two: Wilson's interval begins at 2 / (2 + 1.96 ** 2).
    assert "2 of 2: 1.00 (0.34 to 1.00)" in said
