"""An event written as a line and read again is the same event."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from ethogram.ingest import events_of, read_events
from ethogram.models import Event

characters = st.characters(codec="utf-8", exclude_characters="\0")
names = st.text(characters, min_size=1, max_size=20)
subjects = names.filter(lambda name: not name.isspace())
numbers = st.floats(-1e100, 1e100)
texts = st.text(characters, max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
signals = names.filter(lambda name: "-" not in name)


@st.composite
def events(draw):
    readings = draw(st.dictionaries(signals, numbers | texts, max_size=4))
    told = st.sets(st.sampled_from(sorted(readings))) if readings else st.just(set())
    optional = {
        name: draw(names)
        for name in ("target", "reply_to", "thread", "session", "kind")
        if draw(st.booleans())
    }
    return Event(
        id=draw(names),
        at=draw(st.datetimes(timezones=st.just(UTC))),
        seq=draw(st.integers(0, 2**63 - 1)),
        subject=draw(subjects),
        text=draw(st.none() | texts),
        attributes=draw(st.dictionaries(names, values, max_size=4)),
        readings=readings,
        scorers={name: draw(names) for name in draw(told)},
        widths={name: draw(st.integers(0, 1000)) for name in draw(told)},
        **optional,
    )


@given(event=events(), ascii_only=st.booleans())
def test_an_event_written_as_a_json_line_reads_back_the_same(event, ascii_only):
    line = json.dumps(event.to_dict(), ensure_ascii=ascii_only).encode()
    assert read_events(["-"], stdin=io.BytesIO(line)).events == (event,)


@given(event=events())
def test_an_event_written_as_a_dict_reads_back_the_same(event):
    assert events_of([event.to_dict()]).events == (event,)


@given(first=events(), second=events())
def test_a_json_array_reads_as_its_lines_do(first, second):
    dicts = [first.to_dict() | {"id": "1"}, second.to_dict() | {"id": "2"}]
    lines = "\n".join(json.dumps(item) for item in dicts).encode()
    array = json.dumps(dicts, indent=1).encode()
    read = [read_events(["-"], stdin=io.BytesIO(content), skip_bad=True).events for content in (lines, array)]
    assert read[0] == read[1]


@given(event=events())
def test_an_event_written_as_a_csv_row_reads_back_the_same(event):
    told = event.to_dict()
    cells = {name: json.dumps(cell) if isinstance(cell, dict) else cell for name, cell in told.items()}
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(cells))
    writer.writeheader()
    writer.writerow(cells)
    (read,) = read_events(["-"], stdin=io.BytesIO(out.getvalue().encode())).events
    # An empty cell is an absent one: a table cannot say "".
    assert read == Event(
        **{name: getattr(event, name) for name in Event.__slots__} | {"text": event.text or None}
    )


def test_the_untimed_stay_untimed():
    event = Event.sample(id="x", at=datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC), seq=4, timed=False)
    assert events_of([event.to_dict()]).events == (event,)
