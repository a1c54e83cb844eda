"""`ethogram.analyze` called from Python: what it takes, and what it says of the rest."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

import ethogram
from ethogram.errors import BadUsage
from ethogram.patterns.library import load_patterns
from small import warm_messages

LIBRARY = load_patterns(["love_bombing"])


def test_the_moment_may_be_a_text():
    found = ethogram.analyze(warm_messages(), LIBRARY, as_of="2026-01-02T12:00:00Z")
    assert found.as_of == datetime(2026, 1, 2, 12, tzinfo=UTC)
    assert (found.events, found.after_as_of) == (2, 2)


@pytest.mark.parametrize("moment", ["soon", 5, date(2026, 1, 1), datetime(2026, 1, 1), True])  # noqa: DTZ001
def test_another_moment_is_bad_usage(moment: object):
    with pytest.raises(BadUsage, match="as_of"):
        ethogram.analyze([], LIBRARY, as_of=moment)  # type: ignore[arg-type]


@pytest.mark.parametrize("events", [5, None, b"events.jsonl", {"id": "a"}, ethogram.Event.sample()])
def test_what_is_no_list_of_events_is_bad_usage_that_says_what_is_taken(events: object):
    with pytest.raises(
        BadUsage, match="expected a path, a DataFrame, or a list of Event objects or of dicts; got"
    ):
        ethogram.analyze(events, LIBRARY)  # type: ignore[arg-type]


def test_of_nothing_there_is_no_moment_unless_one_is_asked_about():
    assert ethogram.analyze([], LIBRARY).summary()["as_of"] is None
    asked = ethogram.analyze([], LIBRARY, as_of=datetime(2026, 1, 1, tzinfo=UTC))
    assert asked.summary()["as_of"].startswith("2026-01-01T00:00:00")


@pytest.mark.parametrize(
    ("scorers", "widths", "scorer"),
    [
        ({}, {}, "given"),
        ({"MAN_INJECTION": "local@3"}, {}, "local@3"),
        ({"MAN_INJECTION": "local@3"}, {"MAN_INJECTION": 20}, "local@3/20"),
        ({"compassion": "local@3"}, {}, "given"),
    ],
)
def test_a_detection_names_who_scored_its_evidence(scorers, widths, scorer):
    event = ethogram.Event(
        "e1", datetime(2026, 1, 1, tzinfo=UTC), "ann", readings={"MAN_INJECTION": 0.8},
        scorers=scorers, widths=widths,
    )  # fmt: skip
    (detection,) = ethogram.analyze([event], ["echoed_instruction"])
    assert detection.scorer == scorer
