"""Messages with an evaluator's scores beside them are read as events."""

from __future__ import annotations

import gzip
import json

import pytest

from ethogram import registry
from ethogram.errors import BadEvents
from ethogram.ingest import read_events

MESSAGE = {
    "message_id": "m1",
    "subject": "ann",
    "at": "2026-01-02T03:04:05+00:00",
    "kind": "post",
    "title": "Hello",
    "submolt": "general",
    "text": None,
    "preview": "Hello all, ...",
    "tier": "focused",
    "traits": {"compassion": 0.5, "manipulation": 0.0},
    "indicators": [{"id": "GDW-HUMOR-TRUTH", "name": "humour", "confidence": 0.7}],
    "status": "aligned",
}


def test_traits_and_indicators_become_readings_and_other_keys_attributes(lines):
    (event,) = read_events([lines(MESSAGE)]).events
    assert (event.id, event.subject, event.kind) == ("m1", "ann", "post")
    assert event.readings == {"compassion": 0.5, "manipulation": 0.0, "GDW_HUMOR_TRUTH": 0.7}
    assert event.text == "Hello all, ..."
    assert event.attributes == {
        "title": "Hello",
        "submolt": "general",
        "tier": "focused",
        "status": "aligned",
    }


def test_the_whole_text_is_preferred_to_its_beginning(lines):
    (event,) = read_events([lines(MESSAGE | {"text": "Hello all, good to be here."})]).events
    assert event.text == "Hello all, good to be here."


def test_an_indicator_found_twice_counts_with_its_higher_confidence(lines):
    twice = [{"id": "MAN-URGENCY", "confidence": 0.8}, {"id": "MAN-URGENCY", "confidence": 0.4}]
    (event,) = read_events([lines(MESSAGE | {"indicators": twice})]).events
    assert event.readings["MAN_URGENCY"] == 0.8


def test_a_compressed_file_is_recognised_by_its_content(tmp_path):
    path = tmp_path / "scores.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(MESSAGE) + "\n").encode()))
    assert [event.id for event in read_events([path]).events] == ["m1"]


@pytest.mark.parametrize("missing", ["message_id", "traits", "indicators"])
def test_what_lacks_a_key_of_the_format_is_not_taken_for_it(missing):
    scored_messages = registry.adapters.get("scored_messages")
    kept = {key: value for key, value in MESSAGE.items() if key != missing}
    assert scored_messages.recognises(json.dumps(MESSAGE).encode(), "a.jsonl")
    assert not scored_messages.recognises(json.dumps(kept).encode(), "a.jsonl")


def test_an_event_line_that_only_mentions_the_words_is_an_event_line(lines):
    line = {"subject": "ann", "attributes": {"message_id": 1, "traits": 2, "indicators": 3}}
    (event,) = read_events([lines(line)]).events
    assert event.subject == "ann"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"traits": [0.1]}, "traits must be an object"),
        ({"indicators": {"id": 1}}, "indicators must be a list"),
        ({"indicators": [{"id": "MAN-URGENCY"}]}, "an indicator needs an id and a confidence"),
        ({"indicators": ["MAN-URGENCY"]}, "an indicator needs an id and a confidence"),
        ({"indicators": [{"id": "MAN-URGENCY", "confidence": 10**400}]}, "is not a finite number"),
        ({"subject": None}, "an event needs a subject"),
    ],
)
def test_a_message_that_is_wrong_is_told_with_its_line(lines, changes, said):
    path = lines(MESSAGE, MESSAGE | {"message_id": "m2"} | changes)
    with pytest.raises(BadEvents) as error:
        read_events([path])
    (fault,) = error.value.faults
    assert fault.line == 2
    assert said in fault.message
