"""Regular event lines are read as columns; whatever is read so is the same as read line by line."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ethogram.errors import BadEvents
from ethogram.ingest import line_reader, read_events, reader
from ethogram.ingest.batch import Batch
from ethogram.ingest.event_columns import THIN, EventColumns
from ethogram.models.limits import Limits

RANGES = {"compassion": (0.0, 1.0), "mood": ("glad", "sad")}
LATEST = datetime(2030, 1, 1, tzinfo=UTC)


def both(path: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Batch | None, Batch | str]:
    """What the columns give, None where the file is left to the lines; and what the lines give."""
    options = {"ranges": RANGES, "latest": LATEST, "kinds": {"mood": "category"}} | options
    monkeypatch.setattr(reader, "COLUMNS_FROM", 0)
    seen = []
    columns = reader._read_columns

    def record(*arguments: Any) -> Batch | None:
        seen.append(columns(*arguments))
        return None

    monkeypatch.setattr(reader, "_read_columns", record)
    try:
        lines: Batch | str = read_events(path, **options)
    except BadEvents as error:
        lines = str(error)
    monkeypatch.setattr(reader, "_read_columns", columns)
    return seen[0], lines


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ['"a": 1', "\\", "\x00", "\u2028", "é", "x" * 600, "", " "]
)
TIMES = st.sampled_from(
    [
        "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T01:00:00.123456+01:00",
        "2026-01-01T00:00:00.1234567Z", "2026-01-01 00:00:00+00:00", "2026-01-01T00:00:00", "2026-01-01",
        "2026-01-01T00:00:00z", "2031-01-01T00:00:00Z", "0001-01-01T00:00:00+05:00",
        "9999-12-31T23:59:59-05:00", "2026-01-01T00:00Z", 5, None, "",
    ]
)  # fmt: skip
VALUES = (
    st.floats(0, 1) | st.integers(0, 1) | st.sampled_from([None, "sad", "0.5", True, -1, 1e99, 1e101, 10**25])
)
READINGS = st.dictionaries(
    st.sampled_from(["compassion", "mood", "risk", "MAN-LOVEBOMB", "MAN_X", ""]), VALUES
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
LINES = st.fixed_dictionaries(
    {"subject": st.sampled_from(["ann", "bo", "ann"]) | TEXTS},
    optional={
        "id": st.sampled_from(["1", 2, "3", None, "", 2.5]) | st.integers(0, 50),
        "at": TIMES,
        "seq": st.integers(-1, 3) | st.sampled_from([2**63 - 1, 2**63, True, None]),
        "source": st.sampled_from(["input", "other", "", None]),
        "target": TEXTS | st.none(),
        "kind": st.sampled_from(["message", "", None, 3]),
        "text": TEXTS | st.none(),
        "attributes": st.dictionaries(TEXTS, JSON, max_size=3) | st.none() | st.just([]),
        "readings": READINGS | st.none(),
        "tool": TEXTS,
    },
)


@given(
    lines=st.lists(LINES, min_size=1, max_size=8),
    kind=st.sampled_from(["any", "regular", "alike"]),
    chunk=st.sampled_from([64, 2**20]),
    many=st.sampled_from([0, 32]),
    odd=st.sampled_from(["", "\n", " \r\n", "\n{", '{"subject": "a", "subject": "b"}\n', "[]\n", "\ufeff"]),
    escaped=st.booleans(),
)
@example(
    lines=[{"subject": "a", "seq": 0}, {"subject": "a"}], kind="alike", chunk=64, many=0, odd="", escaped=True
)
@example(lines=[{"subject": "a", "text": "b" * 60}], kind="any", chunk=64, many=0, odd="\n", escaped=True)
@example(
    lines=[{"subject": "a", "readings": {"risk": 1.0}}], kind="alike", chunk=64, many=0, odd="", escaped=True
)
def test_columns_are_what_the_lines_say(
    lines: list[dict[str, Any]],
    kind: str,
    chunk: int,
    many: int,
    odd: str,
    escaped: bool,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    # Most random files have a fault somewhere.
    if kind == "regular":
        lines = [
            {key: line[key] for key in ("subject", "readings", "attributes") if key in line} for line in lines
        ]
    elif kind == "alike":
        first = {key: value for key, value in lines[0].items() if value is not None and key != "tool"}
        lines = [{key: line.get(key, value) for key, value in first.items() if key != "id"} for line in lines]
    path = tmp_path_factory.mktemp("lines") / "events.jsonl"
    path.write_text("".join(json.dumps(line, ensure_ascii=escaped) + "\n" for line in lines) + odd, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_reader, "CHUNK", chunk)
        patch.setattr(line_reader, "PART", chunk // 2)
        patch.setattr(line_reader, "SAMPLE", 2)
        patch.setattr(line_reader, "MANY_SIGNALS", many)
        patch.setattr(line_reader, "THIN", 1 if many == 0 else THIN)
        columns, expected = both(path, patch)
    if columns is not None:
        assert isinstance(expected, Batch)
        assert list(columns.events) == list(expected.events)
        assert (columns.timed, columns.files) == (expected.timed, expected.files)
        assert columns.has_text == expected.has_text
        assert columns.events.count_subjects() == len({event.subject for event in expected.events})
        for names in (("subject",), ("source", "timed", "target"), ("source", "subject", "kind")):
            counts = columns.events.counts(*names)
            assert list(counts.items()) == list(expected.events.counts(*names).items())


@pytest.mark.parametrize(
    ("extra", "regular"),
    [
        ('"mood": "sad"', True),
        ('"MAN_LOVEBOMB": 0.5, "mood": null', True),
        ('"risk": 0.25', False),
        ('"MAN_LOVEBOMB": 0.5, "MAN_LOVEBOMB": 0.7', False),
        ('"fear": 1.0, "joy": 1.0, "mood": "sad"', False),
    ],
    ids=["a text", "a number and null", "a common name again", "another name twice", "one too many"],
)
def test_a_line_may_have_readings_that_most_have_not(
    extra: str, regular: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    line = '{"subject": "ann", "readings": {"risk": 0.5, "calm": 1}}\n'
    path.write_text(line * 90 + "\n" + line.replace('"calm"', extra + ', "calm"') + line * 9)
    monkeypatch.setattr(line_reader, "PART", 600)
    columns, expected = both(path, monkeypatch, limits=Limits(readings=4))
    assert (columns is not None) is regular
    if columns is not None:
        assert isinstance(expected, Batch)
        assert list(columns.events) == list(expected.events)
        assert len(columns.events[90].readings) == 3


def test_a_regular_file_is_read_as_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    lines = [
        {"id": f"e{number}", "at": f"2026-01-01T00:00:{59 - number:02d}Z", "subject": "ann",
         "text": 'say "a": 1', "target": None, "attributes": {"a": {"b": [1]}},
         "readings": {"risk": number / 9, "mood": "sad"}}
        for number in range(50)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)))
    columns, expected = both(path, monkeypatch)
    assert columns is not None
    assert isinstance(columns.events, EventColumns)
    assert isinstance(expected, Batch)
    assert list(columns.events) == list(expected.events)
    assert columns.events[-1] == expected.events[-1]
    assert list(columns.events[2:5]) == list(expected.events[2:5])
    with pytest.raises(IndexError):
        columns.events[50]


def test_ties_in_time_and_position_are_ordered_by_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.jsonl"
    lines = [{"id": name, "seq": 1, "at": "2026-01-01T00:00:00Z", "subject": "ann"} for name in "cab"]
    path.write_text("\n".join(map(json.dumps, lines)))
    columns, _ = both(path, monkeypatch)
    assert columns is not None
    assert [event.id for event in columns.events] == ["a", "b", "c"]


def test_files_are_numbered_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text('{"subject": "x", "readings": {"risk": 1}}\n' * 3)
    columns, expected = both(tmp_path, monkeypatch)
    assert columns is not None
    assert isinstance(expected, Batch)
    assert list(columns.events) == list(expected.events)
    assert [event.seq for event in columns.events] == list(range(6))


@pytest.mark.parametrize(
    "limits",
    [
        Limits(events=2),
        Limits(line=20),
        Limits(text=3),
        Limits(name=4),
        Limits(readings=1),
        Limits(attributes=1),
    ],
)
def test_limits_leave_a_file_to_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    path = tmp_path / "events.jsonl"
    line = {"subject": "annex", "text": "long", "readings": {"a": 1, "b": 1}, "attributes": {"a": 1, "b": 2}}
    path.write_text((json.dumps(line) + "\n") * 3)
    columns, expected = both(path, monkeypatch, limits=limits)
    assert columns is None
    assert isinstance(expected, str)


TURNS = st.fixed_dictionaries(
    {},
    optional={
        "speaker": st.sampled_from(["ann", "bo", "Person 2", "user"]) | TEXTS,
        "role": st.sampled_from(["user", "agent", None, 3]),
        "text": TEXTS | st.sampled_from([None, 3, "\ud800"]),
        "at": TIMES | st.sampled_from(["14:16:47", "2026-01-02", 1767225600]),
        "id": st.sampled_from(["1", 2, {"id": "3"}]),
        "labels": st.dictionaries(
            st.sampled_from(["id", "kind", "parent", "to", "up"]) | TEXTS, JSON | st.just("ann"), max_size=3
        ),
    },
)
CONVERSATIONS = st.fixed_dictionaries(
    {"turns": st.lists(TURNS, max_size=4)},
    optional={"conversation_id": TEXTS, "labels": st.dictionaries(st.just("submolt"), TEXTS)},
)


@given(
    conversations=st.lists(CONVERSATIONS, min_size=1, max_size=4),
    regular=st.booleans(),
    batch=st.sampled_from([2, 100]),
    odd=st.sampled_from(["", "\n", "{", "[]\n", '{"turns": [], "turns": []}\n']),
)
@example(conversations=[{"turns": [{"speaker": "ann"}]}], regular=False, batch=2, odd="\n")
def test_columns_are_what_the_conversations_say(
    conversations: list[dict[str, Any]],
    regular: bool,
    batch: int,
    odd: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if regular:  # most random files have a fault somewhere
        conversations = [
            {"turns": [{"speaker": "ann", "text": str(turn.get("text")), "labels": turn.get("labels", {})}]}
            for conversation in conversations
            for turn in conversation["turns"]
        ]
    path = tmp_path_factory.mktemp("conversations") / "conversations.jsonl"
    first = '{"turns": [{"speaker": "bo", "text": "Hello."}]}\n'
    path.write_text(first + "".join(json.dumps(one) + "\n" for one in conversations) + odd)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_reader, "RECORDS", batch)
        columns, expected = both(path, patch)
    assert columns is not None or isinstance(expected, str) or not regular or odd or expected.repeated
    if columns is not None:
        assert isinstance(expected, Batch)
        assert list(columns.events) == list(expected.events)
        assert (columns.timed, columns.skipped) == (expected.timed, expected.skipped)


@given(lines=st.lists(LINES, min_size=1, max_size=5))
def test_columns_are_what_an_array_says(
    lines: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("arrays") / "events.json"
    path.write_text(json.dumps(lines))
    with pytest.MonkeyPatch.context() as patch:
        columns, expected = both(path, patch)
    if columns is not None:
        assert isinstance(expected, Batch)
        assert list(columns.events) == list(expected.events)


CELLS = st.sampled_from(
    ["", "ann", "0.5", "1", "-.5e1", "1_0", "nan", "true", " 0.25", "007", "2.50", "a,b", 'say "x"',
     "two\nlines", "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.1234567Z", "2026-01-01",
     "x" * 600, "\r", "\u0663"]
)  # fmt: skip
HEADERS = st.lists(
    st.sampled_from(["id", "at", "seq", "source", "target", "kind", "text", "compassion", "mood", "risk",
                     "readings.risk", "compasion", "colour", "attributes.n", "attributes", " session "]),
    max_size=5,
)  # fmt: skip


@given(
    data=st.data(), names=HEADERS, regular=st.booleans(), odd=st.sampled_from(["", "\n", "a\n", "\x00", '"'])
)
def test_columns_are_what_the_rows_say(
    data: st.DataObject, names: list[str], regular: bool, odd: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    usual = {"at": st.just("2026-01-01T00:00:00Z"), "seq": st.just("3"), "text": CELLS, "colour": CELLS}
    cells = [usual.get(name, st.sampled_from(["", "0.5"])) if regular else CELLS for name in names]
    rows = data.draw(st.lists(st.tuples(st.sampled_from(["ann", "bo"]), *cells), min_size=1, max_size=6))
    path = tmp_path_factory.mktemp("rows") / "events.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=data.draw(st.sampled_from(["\n", "\r\n"])))
        writer.writerows([("subject", *names), *rows])
        file.write(odd)
    with pytest.MonkeyPatch.context() as patch:
        columns, expected = both(path, patch)
    if columns is not None:
        assert isinstance(expected, Batch)
        assert list(columns.events) == list(expected.events)
        assert (columns.timed, columns.strays) == (
            expected.timed,
            {k: n for k, n in expected.strays.items() if n},
        )


def test_a_regular_table_is_read_as_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "events.csv"
    path.write_text(
        "subject;at;readings.risk;mood;colour;text\r\n"
        'ann;2026-01-01T00:00:02Z;0.5;sad;red;"one; ""two""\r\n"\r\n'
        "\r\n"
        "bo;2026-01-01T00:00:01Z;;glad;007;\r\n"
    )
    columns, expected = both(path, monkeypatch)
    assert columns is not None
    assert isinstance(expected, Batch)
    assert list(columns.events) == list(expected.events)
    bo, ann = columns.events
    assert (ann.text, ann.readings) == ('one; "two"\r\n', {"risk": 0.5, "mood": "sad"})
    assert (bo.attributes, bo.readings) == ({"colour": "007"}, {"mood": "glad"})


@pytest.mark.parametrize(
    "limits", [Limits(events=2), Limits(line=20), Limits(text=3), Limits(name=4), Limits(readings=1)]
)
def test_limits_leave_a_table_to_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limits: Limits
) -> None:
    path = tmp_path / "events.csv"
    path.write_text("subject,text,readings.a,readings.b\n" + "annex,long text,1,1\n" * 3)
    columns, expected = both(path, monkeypatch, limits=limits)
    assert columns is None
    assert isinstance(expected, str)
