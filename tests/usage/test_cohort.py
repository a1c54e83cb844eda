"""The cohort's table: what is shipped is read as YAML reads it, and every fault of a file is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from ethogram.errors import BadConfig, BadUsage
from ethogram.usage import COHORTS, Settings, Summary, learn_cohort, record
from ethogram.usage.cohort import SHIPPED, find_cohort, format_cohort, parse_cohort, read_cohort

DAY = 86_400
START = 1_767_225_600
"""Thursday 1 January 2026, midnight UTC."""


def person(k: int, a_day: int = 2, length: int | None = None) -> Summary:
    """Thirty days, each with so many messages an hour apart from noon on."""
    state = Summary()
    for day in range(30):
        for n in range(a_day):
            at = START + day * DAY + (12 + n) * 3600 + k
            state = record(state, at, length=length, zone="UTC")
    return state


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.name)
def test_a_shipped_table_is_yaml_and_means_the_same_as_yaml(path: Path) -> None:
    data = YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    ours = read_cohort(path)
    assert {name: getattr(ours, name) for name in data} == data
    assert path.stem == str(ours.version)


def test_the_two_versions_are_there() -> None:
    assert list(COHORTS) == [0, 1]
    # Five messages an hour for the twelve hours of a day that people are up, as the fixed limits have it.
    assert COHORTS[0].events_a_day == 60
    assert (COHORTS[0].session_minutes, COHORTS[0].message_length) == (15, 200)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("night_share: 0.08", "night_share: 1.2"), "invalid night_share 1.2: expected a number from"),
        (("night_share: 0.08", "night_share: often"), "invalid night_share 'often'"),
        (("night_share: 0.08", "night_share: NaN"), "invalid night_share nan: expected a number from"),
        (("night_share: 0.08", "night_shaer: 0.08"), "did you mean 'night_share'"),
        (("night_share: 0.08", ""), "lacks night_share"),
        (("night_share: 0.08", "  night_share: 0.08"), "must be `name: value`"),
        (("version: 1", "version: 1.5"), "invalid version 1.5: expected a whole number"),
        (("version: 1", "version: 1\nversion: 2"), "duplicate name 'version'"),
        (("version: 1", "version: 1\npeople: 19"), "invalid people 19: expected 0 or at least 20"),
        (("version: 1", "version: 1\ndate: 2026-02-30"), "invalid date '2026-02-30': expected a day"),
    ],
    ids=lambda name: name[1] if isinstance(name, tuple) else "",
)
def test_what_a_table_may_not_be(change: tuple[str, str], said: str) -> None:
    text = format_cohort(COHORTS[1]).replace(*change)
    with pytest.raises(BadConfig) as caught:
        parse_cohort(text, "mine.yaml")
    assert said in str(caught.value)


def test_every_fault_is_told_with_its_line() -> None:
    text = (
        format_cohort(COHORTS[1]).replace("days: 1.0\n", "days: -1\n").replace("version: 1\n", "version: x\n")
    )
    with pytest.raises(BadConfig) as caught:
        parse_cohort(text, "mine.yaml")
    assert [(fault.path, fault.line) for fault in caught.value.faults] == [("mine.yaml", 2), ("mine.yaml", 6)]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: 1\n" * 10_000], ids=["not UTF-8", "too large"])
def test_a_file_that_is_no_table_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_bytes(content)
    with pytest.raises(BadConfig, match=r"table\.yaml"):
        read_cohort(file)


def test_a_table_is_asked_for_by_version_or_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(format_cohort(COHORTS[0]))
    assert find_cohort("1") is find_cohort(1) is COHORTS[1]
    assert find_cohort(str(file)) == COHORTS[0]
    with pytest.raises(BadConfig, match="no version 7; there are 0, 1"):
        find_cohort(7)
    with pytest.raises(BadConfig, match="cannot be read"):
        find_cohort(str(tmp_path / "nowhere.yaml"))


def test_what_is_learnt_is_the_middle_person() -> None:
    # Ten with one message a day, eleven with two: the middle one of 21 has two, in two half-hours.
    people = [person(k, a_day=1 if k < 10 else 2) for k in range(21)]
    made = learn_cohort(people, 2, "made up", Settings(), "2026-03-01")
    assert (made.version, made.people, made.source, made.date) == (2, 21, "made up", "2026-03-01")
    assert (made.events_a_day, made.active_a_day) == (2.0, 2.0)
    # The same every day: no spread; never at night, but that is rare and not impossible.
    assert (made.events_spread, made.active_spread, made.night_share) == (0.0, 0.0, 0.005)
    # Nobody told a length, so that one stays, and so do the weights.
    assert (made.message_length, made.days) == (COHORTS[1].message_length, COHORTS[1].days)


def test_what_fewer_than_twenty_tell_is_not_told() -> None:
    people = [person(k, length=40 if k < 19 else None) for k in range(25)]
    assert learn_cohort(people, 2, "made up", Settings()).message_length == COHORTS[1].message_length
    people = [person(k, length=40 if k < 20 else None) for k in range(25)]
    # Lengths are kept in sixteenths of an octave, so to a few per cent; and are told to two places.
    assert learn_cohort(people, 2, "made up", Settings()).message_length == pytest.approx(40, rel=0.05)


def test_figures_are_rounded_so_that_nobodys_own_can_be_read_off() -> None:
    made = learn_cohort([person(k, a_day=3) for k in range(20)], 2, "made up", Settings())
    assert len(f"{made.log_pause:g}".replace(".", "")) <= 2


def test_below_twenty_people_there_is_no_table() -> None:
    with pytest.raises(BadUsage, match=r"at least 20 people with three weeks and 30 events.* here are 19"):
        learn_cohort([person(k) for k in range(19)], 2, "made up", Settings())
