"""A small file that unpacks to a great deal of nothing costs little; logs that repeat themselves are read."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bombs import BOMBS, SIZE, packed
from ethogram.app.chat.files import read_turns
from ethogram.app.importing import Options, import_events
from ethogram.cli.main import main
from ethogram.errors import BadEvents
from ethogram.ingest import Limits, gather_events, read_events
from ethogram.store import open_store
from waiting import ending

TURN = b'{"role": "user", "text": "hi"}\n'
START = datetime(2026, 1, 1, tzinfo=UTC)


def outcome(call: Any) -> Any:
    """What a call returns, or the error that ended it."""
    try:
        with ending("reading a bomb"):
            return call()
    except BadEvents as error:
        return error


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_ends_soon_with_a_fault_that_names_the_file(name, tmp_path):
    path = BOMBS[name](tmp_path)
    for skip_bad in (False, True):
        made = outcome(lambda: gather_events([path], memory=400_000_000, skip_bad=skip_bad))  # noqa: B023
        if name == "many members":
            assert len(made.events) == 1
        elif isinstance(made, BadEvents):
            assert str(path) in str(made)
        else:
            assert skip_bad
            assert made.bad_count


def test_a_bomb_is_bad_input_for_the_command(tmp_path, capsys):
    path = BOMBS["lines that are no JSON"](tmp_path)
    for more in ([], ["--skip-bad"]):
        assert main(["analyze", str(path), *more]) == 2
        err = capsys.readouterr().err
        assert "stopped reading here: more than 10,000 bad records" in err
        assert "Traceback" not in err


def test_an_import_stops_at_a_bomb_too_and_leaves_nothing_behind(tmp_path):
    path = BOMBS["lines without a subject"](tmp_path)
    with open_store(str(tmp_path / "s.db"), create=True) as store:
        made = outcome(lambda: import_events(store, [path], at=START, options=Options(skip_bad=True)))
        assert "stopped reading here" in str(made)
        assert list(store.events()) == []


@pytest.mark.parametrize("name", ["blank lines", "lines that are no JSON", "turns that are none"])
def test_following_a_conversation_stops_at_a_bomb_too(name, tmp_path):
    path = BOMBS[name](tmp_path)
    text = tmp_path / "talk.txt.gz"
    text.write_bytes(packed(b"\n" if name == "blank lines" else b'{"role": 1}\n', SIZE, TURN))
    for item in (path, text):
        made = outcome(lambda: list(read_turns(str(item))))  # noqa: B023
        assert isinstance(made, BadEvents)


# --- what is no bomb ------------------------------------------------------------------------


def beats(count: int, text: str) -> bytes:
    """The log of an agent that says the same every second."""
    return b"".join(
        json.dumps({"at": (START + timedelta(seconds=k)).isoformat(), "subject": "a", "text": text}).encode()
        + b"\n"
        for k in range(count)
    )


@pytest.mark.parametrize(("count", "text"), [(60_000, "ok"), (7_000, "Traceback " * 1000)])
def test_logs_that_repeat_themselves_are_read_whole(count, text, tmp_path):
    """Packed 48 times as small and 300 times; the second is over the bytes that any file may unpack to."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(beats(count, text), 9))
    with gather_events([path], memory=1_000_000) as made:
        assert (len(made.events), made.bad_count) == (count, 0)


def test_blank_lines_between_events_are_read_however_many(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"".join(line + b"\n\n" for line in beats(500, "ok").splitlines()))
    assert len(read_events(path, limits=Limits(blank=10)).events) == 500


@pytest.mark.parametrize(
    ("bad", "good", "stops"), [(10, 0, False), (11, 0, True), (20, 20, False), (21, 20, True)]
)
def test_reading_stops_only_where_bad_records_are_many_and_the_most(bad, good, stops, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(beats(good, "ok") + b"x\n" * bad + beats(30, "later"))
    made = outcome(lambda: read_events(path, skip_bad=True, limits=Limits(bad=10)))
    assert isinstance(made, BadEvents) == stops
    if stops:
        assert f"{path}:{max(10, good) + good + 1}: stopped reading here" in str(made)
    else:
        assert made.bad_count == bad


def test_a_line_of_many_unknown_keys_is_refused_before_each_is_compared(tmp_path):
    line = {"subject": "ann"} | {f"subjekt{k}": 1 for k in range(40_000)}
    path = Path(tmp_path / "a.jsonl")
    path.write_text(json.dumps(line) + "\n")
    made = outcome(lambda: read_events(path))
    assert "more than 256 attributes" in str(made)


def test_what_parquet_shares_is_read_as_it_was_written(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = 10_000
    texts = [None if k % 7 == 0 else f"said {k % 3}" for k in range(rows)]
    table = pyarrow.table({"subject": ["ann", "bo"] * (rows // 2), "text": texts, "place": texts})
    parquet.write_table(table, tmp_path / "a.parquet")
    events = read_events(tmp_path / "a.parquet").events
    assert [event.text for event in events] == texts
    assert [event.attributes.get("place") for event in events] == texts
