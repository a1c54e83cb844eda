"""Whatever the bytes, reading ends with events or faults that can be printed, never with a traceback."""

from __future__ import annotations

import gzip
import io
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ethogram.ingest import Limits, read_events

SMALL = Limits(line=2000, whole=100_000, unpacked=100_000)
STARTS = [
    b"",
    b"{",
    b"[",
    b"subject,x\n",
    b'{"subject": ',
    b"PAR1",
    b"\x1f\x8b\x08\x00",
    b"\xef\xbb\xbf{",
    b'["',
]
WORDS = [
    b'"',
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\n",
    b"\\ud800",
    b"NaN",
    b"1e400",
    b"\0",
    b"\xff",
    b"subject",
]

hostile = st.one_of(
    st.binary(max_size=400),
    st.builds(bytes.__add__, st.sampled_from(STARTS), st.binary(max_size=200)),
    st.lists(st.sampled_from(WORDS), max_size=60).map(b"".join),
    st.builds(lambda raw, cut: gzip.compress(raw)[:cut], st.binary(max_size=200), st.integers(0, 250)),
)


def survive(content, limits=SMALL):
    batch = read_events(["-"], stdin=io.BytesIO(content), skip_bad=True, limits=limits)
    for fault in batch.bad:
        str(fault).encode()
        json.dumps(fault.to_dict()).encode()
    for event in batch.events:
        json.dumps(event.to_dict(), ensure_ascii=False, allow_nan=False).encode()
    return batch


@given(content=hostile)
@settings(max_examples=4 * settings.default.max_examples)
def test_no_bytes_break_reading(content):
    survive(content)


@given(content=hostile)
def test_no_bytes_break_reading_when_compressed(content):
    survive(gzip.compress(content))


@given(rest=st.binary(max_size=200))
@example(rest=b'"a"}')
def test_bytes_after_a_good_line_cost_only_themselves(rest):
    batch = survive(b'{"subject": "first"}\n' + rest + b'\n{"subject": "last"}\n')
    subjects = [event.subject for event in batch.events]
    assert (subjects[0], subjects[-1]) == ("first", "last")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "id",
    "at",
    "seq",
    "source",
    "subject",
    "target",
    "kind",
    "text",
    "attributes",
    "readings",
    "x_a",
    "y",
]


@given(line=st.dictionaries(st.sampled_from(FIELDS), anything, max_size=8), subject=st.booleans())
@settings(max_examples=4 * settings.default.max_examples)
def test_no_value_in_any_field_breaks_reading(line, subject):
    survive(json.dumps({**line, "subject": "a"} if subject else line).encode())


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b'{"subject": "a", "attributes": {"x": ' + b"[" * 900 + b"]" * 900 + b"}}",
        b'{"subject": "a", "readings": {"x": ' + b"1" * 100_000 + b"}}",
        b'{"subject": "a", "readings": {"x": -1e400}}',
        b'{"subject": "\\ud800", "\\ud800": 1}',
        b'{"\\ud800": 1, "\\ud800": 2}',
        b'{"subject": "a", "readings": {"\\ud800": 1}}',
        b"\0" * 10_000,
        b"{\0}",
        b"subject\n" + b"\0\n" * 10,
        b'subject,text\n"' + b"a\n" * 10_000,
        b"subject," * 10_000 + b"\n",
        b"\x1f\x8b",
        gzip.compress(gzip.compress(b'{"subject": "a"}', mtime=0), mtime=0),
        gzip.compress(b"\0" * 10_000_000, mtime=0),
        b"PAR1PAR1",
        b"PAR1" + b"\xff" * 100 + b"PAR1",
    ],
)
def test_known_attacks_end_in_faults(content):
    batch = survive(content, Limits())
    assert batch.events == ()
    assert batch.bad_count > 0
