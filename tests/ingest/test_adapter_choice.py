"""What every adapter promises, run on all that are registered."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ethogram import registry
from ethogram.ingest import Adapter, Input, Limits, Record, Skipped, Unreadable, read_events
from ethogram.ingest.format import adapter, choose
from sampling import for_each

NAMES = registry.adapters.names()


def test_the_plain_formats_are_found_by_themselves():
    assert {"csv", "json", "jsonl", "parquet"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@given(head=st.binary(max_size=300), path=st.text(max_size=20))
def test_looking_at_any_bytes_gives_yes_or_no(name, head, path):
    assert registry.adapters.get(name).recognises(head, path) in (True, False)


@pytest.mark.parametrize("name", NAMES)
@for_each("empty", [b"", b"\n", b"plain words\n", b"\x89PNG\r\n"])
def test_nothing_in_particular_is_recognised_by_none(name, empty):
    assert not registry.adapters.get(name).recognises(empty, "some/file")


@pytest.mark.parametrize("name", NAMES)
@given(content=st.binary(max_size=300))
def test_reading_any_bytes_gives_records_or_says_it_cannot(name, content):
    file = Input("some/file", io.BytesIO(content), content, {}, Limits())
    with suppress(Unreadable):
        for line, value, column in registry.adapters.get(name).read(file):
            assert line >= 0
            assert column >= 0
            assert isinstance(value, dict | str)


@pytest.fixture
def shouting(monkeypatch):
    """A new adapter, registered as a new file would, and gone after the test."""
    monkeypatch.setattr(registry.adapters, "_items", dict(registry.adapters._items))

    @adapter("shouting")
    class Shouting(Adapter):
        """JSON lines whose second line says so; every word is a subject."""

        def recognises(self, head: bytes, name: str) -> bool:
            return b"SHOUT" in head

        def read(self, file: Input) -> Iterator[Record]:
            for number, raw in enumerate(file.stream, 1):
                word = raw.decode().strip()
                if word.startswith("{"):
                    yield number, Skipped("header"), 0
                elif word == "BAD":
                    yield number, "too loud", 2
                else:
                    yield number, {"subject": word}, 0

    return Shouting


def test_a_particular_format_is_asked_before_the_general_ones(shouting):
    assert isinstance(choose(b'{"a": 1}\nSHOUT\n', "events.jsonl"), shouting)


def test_what_a_new_adapter_yields_goes_through_the_same_checks(shouting, tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_text("{}\nSHOUT\nBAD\n" + "X" * 600 + "\n")
    batch = read_events([path], skip_bad=True)
    assert [event.subject for event in batch.events] == ["SHOUT"]
    assert batch.skipped == {"header": 1}
    assert [(fault.line, fault.column) for fault in batch.bad] == [(3, 2), (4, 0)]


def test_another_package_may_name_a_class_as_its_entry_point(shouting, monkeypatch):
    monkeypatch.setitem(registry.adapters._items, "shouting", shouting)
    assert isinstance(choose(b"SHOUT", "x"), shouting)
