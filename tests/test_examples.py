"""The example histories of the package: who is found by which pattern, and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

import ethogram

FOLDER = Path(ethogram.__file__).parent / "data" / "examples"
FOUND = {
    "conversation": {("love_bombing", "ann")},
    "run": {("repetitive_errors", "fixer"), ("loop", "walker"), ("infrastructure_trouble", "fetcher")},
    "usage": {
        ("return_after_absence", "ben"),
        ("abrupt_termination", "hal"),
        ("withdrawal", "ana"),
        ("frequency_drop", "ana"),
    },
    "risk": {
        ("escalation", "visitor"),
        ("information_gathering@3", "visitor"),
        ("information_gathering", "visitor"),
    },
    "network": {
        ("planted_instruction", "mole"),
        ("trust_cascade", "mole"),
        ("relayed_instruction", "mole"),
        ("scope_creep", "rho"),
        ("injection_to_action", "rho"),
    },
}
FOUND_IF_NAMED = {
    "usage": {("unusual_silence", "ana")},
    "run": {("stuck_run", "fixer"), ("stuck_run", "walker")},
    "network": {
        *(("echoed_instruction", name) for name in ("brag", "mole", "rho")),
        *(("injected_instruction", name) for name in ("mole", "rho")),
    },
}
"""By patterns that are off unless named."""


def found_in(name: str, patterns: list[str] | None = None) -> list[tuple[str, str]]:
    return sorted(
        (item.pattern, item.subject) for item in ethogram.analyze(FOLDER / f"{name}.jsonl", patterns)
    )


def test_every_example_is_spoken_for_here_and_in_the_readme():
    names = {path.stem for path in FOLDER.glob("*.jsonl")}
    assert names == set(FOUND)
    readme = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.jsonl`" in readme for name in names)


@pytest.mark.parametrize("name", FOUND)
def test_what_was_planted_is_found_once_and_nobody_else_is(name):
    assert found_in(name) == sorted(FOUND[name])


@pytest.mark.parametrize("name", FOUND)
def test_patterns_that_are_off_by_default_accuse_nobody_else(name):
    found = set(found_in(name, ["*"]))
    assert found == FOUND[name] | FOUND_IF_NAMED.get(name, set())


@pytest.mark.parametrize("name", FOUND)
def test_no_line_of_an_example_is_bad_or_repeated(name):
    analysis = ethogram.analyze(FOLDER / f"{name}.jsonl")
    assert (analysis.bad_count, analysis.repeated) == (0, 0)


def test_people_whose_use_is_unusual_but_usual_for_them_are_left_alone():
    subjects = {subject for _, subject in found_in("usage", ["usage/*"])}
    assert not subjects & {"cem", "dia", "eli", "fay", "gil", "ida"}


def test_love_bombing_is_told_with_what_was_asked_for():
    (found,) = ethogram.analyze(FOLDER / "conversation.jsonl")
    assert (found.target, found.severity) == ("bo", "high")
    assert found.details["times"] == 4
    assert found.details["request_made"] == 1
    assert [item.step for item in found.evidence] == ["warm"] * 4 + ["press"]


def test_the_repeated_error_is_found_at_the_third_and_closed_by_the_way_out():
    found = next(item for item in ethogram.analyze(FOLDER / "run.jsonl") if item.subject == "fixer")
    assert (found.severity, found.state) == ("critical", "closed")
    assert found.details["repeated_error"].startswith("ERROR: No matching distribution found for lrucache")


def test_a_rate_limit_is_told_as_trouble_outside_and_not_as_an_error_of_the_agent():
    # Four of ten steps met it; it is over when fewer than three of the last ten did.
    (found,) = (item for item in ethogram.analyze(FOLDER / "run.jsonl") if item.subject == "fetcher")
    assert (found.pattern, found.severity, found.state) == ("infrastructure_trouble", "low", "closed")
    assert found.details["times"] == 4
