"""benchmarks/quality/page.py: figures go between their marks, and nothing else of the page changes."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.quality.episodes import Setting
from benchmarks.quality.page import PAGE, SECTIONS, planted, runs, write
from benchmarks.quality.page_conversations import conversations
from benchmarks.quality.page_usage import usage
from benchmarks.quality.planting import plant
from benchmarks.quality.runs import set_files, set_name, validate_runs


def test_a_section_is_replaced_and_the_rest_stays(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = "<!-- runs: written by benchmarks/quality/page.py -->", "<!-- end of runs -->"
    page.write_text(f"before\n{marks[0]}\nold\n{marks[1]}\nafter\n")
    write(page, "runs", ["new", "lines"])
    assert page.read_text() == f"before\n{marks[0]}\nnew\nlines\n{marks[1]}\nafter\n"
    with pytest.raises(SystemExit, match="no place for the section planted"):
        write(page, "planted", ["new"])


def test_the_page_has_a_place_for_every_section() -> None:
    for section in SECTIONS:
        said = PAGE.read_text("utf-8")
        assert said.index(f"<!-- {section}: written by benchmarks/quality/page.py -->") < said.index(
            f"end of {section}"
        )


def test_false_alarms_have_a_column_for_each_severity() -> None:
    alarms = {"good_runs": 9, "any": 5, "medium": 3, "high": 1}
    marked = {"marked": 6, "failed_marked": 1, "good_marked": 5, "precision": 1 / 6, "lift": 0.5,
              "precision_interval": (0.03, 0.56), "lift_equal_length": None, "horizon": 4}  # fmt: skip
    located = {"alarms": 7, "right": 4, "random": 2.25, "random_interval": [1, 4]}
    made = {"runs": 9, "patterns": {"loop": {"any": marked, "high": marked}}, "false_alarms": alarms,
            "located": {"loop": located}}  # fmt: skip
    text = list(runs({"false_alarms": alarms, "sets": {"made": made}}, "d1", "c1"))
    assert "| all | 9 | 5 | 3 | 1 |" in text
    row = "| made (9) | `loop` | 6 | 1 | 5 | 0.17 (0.03 to 0.56) | 0.50 | - | 4 | 4 of 7 | 2.2 (1 to 4) |"
    assert [line for line in text if "`loop`" in line] == [row]
    assert "commit `c1`; data `d1`" in text[0]


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


def people_records() -> list[dict[str, Any]]:
    """One set with everything that the section shows, once at each severity."""
    about = {"people": 9, "person_weeks": 100.0, "openings": 4, "rate": 0.04, "interval": [0.01, 0.07],
             "active_weeks": 50, "active_rate": 0.08, "active_interval": [0.02, 0.14]}  # fmt: skip
    records: list[dict[str, Any]] = [
        {"record": "usage_set", "set": "made", "people": 9, "events": 900, "person_weeks": 100.0,
         "observed_days": 300, "zone": None, "cohort": 1, "half": "report", "seed": 5},
    ]  # fmt: skip
    for severity in ("low", "medium"):
        named = {"set": "made", "background": "real", "severity": severity}
        for method, pattern in (("patterns", "all"), ("patterns", "withdrawal"), ("fixed limits", "all")):
            row = {"method": method, "pattern": pattern, "group": "all", "with_any": 0.3}
            records.append({"record": "usage_rate", **named, **row, **about})
        share = {"recall": 0.9, "interval": [0.8, 0.95], "control": 0.1, "delay_days": 4.0}
        drawn = {"drawn": 44, "too_small": 0, "open_before": 4, "people": 30, "reached": 0.0, "rise": None}
        planted_one = {"change": "absence", "measure": "mean", "cases": 40, **drawn, **share}
        records.append({"record": "usage_recall", **named, **planted_one})
        small = {"change": "night_shift", "rise": 0.3, "drawn": 1_610, "too_small": 1_566, "reached": 0.4}
        records.append({"record": "usage_recall", **named, **planted_one, **small, "recall": 0.5})
        records.append({"record": "usage_silence", **named, "days": 3, "people": 9, "quiet": 2})
    fall = {"days": 7, "periods": 50, "share": 0.5, "rate": 0.06}
    return [*records, {"record": "usage_fall", "set": "made", **fall}]


def test_figures_about_people_say_how_they_were_got() -> None:
    told = {"half": "report", "seed": 5, "draws": {"made": 3}, "data": "d1"}
    said = "\n".join(usage(people_records(), people_records(), told, "c1"))
    assert "Commit `c1`; data `d1`" in said
    assert (
        "`python -m benchmarks quality usage --data FOLDER --set made --half report --seed 5 --draws 3`"
        in said
    )
    item = "0.040 (0.010 to 0.070) | 0.080 | 0.30"
    assert f"| patterns | all (9) | {item} | {item} |" in said
    # Fixed limits have no severities, so they stand in one column only, and beside both of ours.
    assert f"| fixed limits | all (9) | {item} | - | - | - |" in said
    assert "patterns 0.040 at severity low or above, 0.040 at severity medium; fixed limits" in said
    assert "| patterns | everybody (9) |" in said
    found = "40 of 30 (4) | 0.90 (0.80 to 0.95) | 0.10 | 4.0 d"
    assert f"| `absence` | real | mean | 0.00 left | 44 | 0 | {found} | {found} |" in said
    assert "| `night_shift`, +0.3 at least | real | mean | +0.40 | 1,610 | 1,566 | 40 of 30" in said
    # The row with a rise is not counted.
    assert "Severity low or above, found in 0.90 or more: 1 of 1 rows: `absence` (real, mean)." in said
    assert "the interval not above luck: 0 of 1 rows." in said
    assert "- severity medium: 2 after 3 days; of 9" in said
    assert "- 7 days: 0.50 of 50 periods, 0.060 falls a person-week" in said


def conversation_records() -> list[dict[str, Any]]:
    """One set of each kind, with everything that the section shows."""
    records: list[dict[str, Any]] = []
    for name, kind in (("mean", "attack"), ("calm", "harmless")):
        records.append(
            {"record": "conversation_set", "set": name, "kind": kind, "half": "report", "conversations": 40}
        )
        rate = {"per_1000": 25.0, "interval": [4.4, 128.8], "median_turn": 2, "at_first_turn": 0.5}
        records += [
            {"record": "conversation_mode", "set": name, "kind": kind, "mode": mode, **rate}
            for mode in ("CAUTIOUS", "ELEVATED", "SUSPECT", "CRITICAL", "UNSAFE")
        ]
        records.append(
            {"record": "conversation_pattern", "set": name, "pattern": "escalation", "per_1000": 3.0}
        )
    for method in ("ethogram", "keywords"):
        record: dict[str, Any] = {"record": "conversation_apart", "against": "calm", "method": method}
        for name in ("auroc", "recall_at_1", "recall_at_5"):
            record |= {name: 0.8, f"{name}_interval": [0.7, 0.9]}
        limit = (
            {"limit": 0.5, "recall_at_limit": 0.4, "alarms_at_limit": 0.005} if method == "ethogram" else {}
        )
        none = dict.fromkeys(("limit", "recall_at_limit", "alarms_at_limit"))
        records.append({**record, "attacks": 40, "harmless": 40, **none, **limit})
    reading = {"trait": "dismissal", "shape": "last", "bar": 0.62, "former": [0.54, 0.48, 0.59]}
    figures = {"auroc": 0.58, "interval": [0.5, 0.66]}
    records += [
        {"record": "conversation_reading", "set": "made", "method": method, **reading, **figures}
        for method in ("local", "length")
    ]
    return records


def test_figures_about_conversations_say_how_they_were_got() -> None:
    told = {"half": "report", "most": None, "embedder": "static", "tuned": "nothing", "against": "calm"}
    told |= {"bars": {"auroc": {"value": 0.8, "bar": 0.85}}, "data": "d1"}
    rows = [(conversation_records(), {**told, "embedder": name}) for name in ("static", "other")]
    said = "\n".join(conversations(rows, "c1"))
    command = "python -m benchmarks quality conversations --data FOLDER --half report --embedder NAME"
    assert f"`{command}` (--embedder static --embedder other); commit `c1`; data `d1`" in said
    assert "**What was tuned on what**: nothing." in said
    assert "- auroc: 0.8 (bar 0.85)" in said
    assert "| `calm` | harmless | 40 | 25 | 25 | 25 | 25 | 4 to 129 | 2 | 0.50 |" in said
    assert "- `escalation`: `mean` 3, `calm` 3" in said
    three = "0.800 (0.700 to 0.900) | 0.80 (0.70 to 0.90) | 0.80 (0.70 to 0.90)"
    assert f"| **ethogram, other** | {three} | 0.40 and 0.005 |" in said
    assert said.count(f"| keywords | {three} | - |") == 1
    area = "0.58 (0.50 to 0.66)"
    former = "0.54 (0.48 to 0.59)"
    assert f"| `made` | dismissal: last | 0.62 | {area} | - | - | - | {area} | {former} |" in said


DATA = Path(os.environ.get("ETHOGRAM_DATA") or "/nowhere") / "runs"
LARGEST = 600_000
"""Bytes of a set that rows are taken of: those of larger ones take minutes."""


@pytest.mark.skipif(not DATA.is_dir(), reason="ETHOGRAM_DATA does not say where the data are")
def test_two_random_rows_are_got_again() -> None:
    """What the page says is what the data says now; which rows, nobody knows before."""
    seed = random.SystemRandom().randrange(10**6)
    small = {set_name(file) for file in set_files(DATA) if file.stat().st_size <= LARGEST}
    row = re.compile(r"\| (\w+) \(\d+\) \| `([\w.]+)` \| (?:any|medium|high) \|")
    told = [(row.match(line), line) for line in PAGE.read_text("utf-8").splitlines()]
    rows = [(found[1], found[2], line) for found, line in told if found and found[1] in small]
    for name, pattern, line in random.Random(seed).sample(rows, 2):
        again = runs(validate_runs(DATA, [pattern.partition(".")[0]], sets=[name]), "", "")
        assert line in list(again), f"seed {seed}: {line}"
