"""The check of stores holds for ours and for a toy, and finds what a faulty one does."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

import dict_store
from dict_store import DictStore
from ethogram import registry
from ethogram.testing import check_store
from markdown_blocks import ROOT

NAMES = sorted({store: name for name, store in registry.stores.items()}.values())


@pytest.mark.parametrize("kind", NAMES)
def test_our_stores_keep_the_contract(kind, new_url):
    check_store(new_url(kind))


def test_the_toy_is_that_of_the_page():
    page = (ROOT / "docs" / "custom_stores.md").read_text(encoding="utf-8")
    shown = page.partition("```python\n")[2].partition("```")[0]
    shown = shown.replace('@store("memory")\n', "").replace("import Store, store\n", "import Store\n")
    code = Path(dict_store.__file__).read_text(encoding="utf-8")
    assert code[code.index("from __future__") :] == shown


def test_a_toy_keeps_the_contract(dict_stores):
    check_store(f"dict://{secrets.token_hex(4)}")


def test_a_store_without_isolation_says_so(faulty, monkeypatch):
    monkeypatch.setattr(faulty, "fault", "live snapshots")
    monkeypatch.setattr(faulty, "has_snapshots", False)
    check_store(f"dict://{secrets.token_hex(4)}")


class Faulty(DictStore):
    """A toy with faults that are switched on."""

    fault = ""

    def __init__(self, url: str, *, create: bool = False) -> None:
        super().__init__(url, create=create or self.fault == "always made")

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        if self.fault == "live snapshots":
            yield self
            return
        with super().snapshot() as view:
            yield view

    def transact(self, work: Any) -> Any:
        return work() if self.fault == "no transactions" else super().transact(work)

    def rows(self, kind: str, where: Any = (), **how: Any) -> Iterator[Any]:
        if self.fault == "no limit":
            how["limit"] = None
        if self.fault == "0 is all":
            how["limit"] = how.get("limit") or None
        if self.fault == "no order":
            how["order"] = ()
        if self.fault == "conditions apart":
            where = where[1:]
        rows = super().rows(kind, where, **how)
        return map(list, rows) if self.fault == "rows as lists" else rows

    def groups(self, kind: str, by: Any, where: Any = (), **how: Any) -> Iterator[Any]:
        return super().groups(kind, by, () if self.fault == "groups of all" else where, **how)

    def append(self, events: Any) -> list[int]:
        if self.fault == "twice":
            self.write("events", events)
            return []
        return super().append(events)

    def delete(self, kind: str, where: Any = ()) -> int:
        if self.fault == "readings stay" and kind == "events":
            readings = list(self.rows("readings"))
            count = super().delete(kind, where)
            self.write("readings", readings)
            return count
        return super().delete(kind, where)


PAGE = "limit and offset give a page: rows('looks', order=('-at_us', 'key'), limit=0, offset=0)"


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        # Of the numbers 0 to 6, 1 is the first with the highest at_us: -1 % 3.
        ("0 is all", f"{PAGE}: found 7 items, expected 0; the first that should not be there is (1, 2, "),
        ("rows as lists", "a row is a tuple, not a list: rows('meta') gave ['name 0', 10]"),
    ],
)
def test_a_message_names_the_call_and_the_first_difference(fault, message, faulty, monkeypatch):
    monkeypatch.setattr(faulty, "fault", fault)
    with pytest.raises(AssertionError) as caught:
        check_store(f"dict://{secrets.token_hex(4)}")
    assert str(caught.value).startswith(message)


@pytest.fixture
def faulty(dict_stores: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setitem(registry.stores._items, "dict", Faulty)
    return Faulty


@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        ("always made", "a store that is not there is BadUsage without create=True"),
        ("live snapshots", "a snapshot sees nothing that another thread writes meanwhile"),
        ("no lock", "nobody else writes during a transaction"),
        ("0 is all", "give a page"),
        ("no transactions", "a transaction that fails changes nothing"),
        ("no limit", "give a page"),
        ("no order", "ordered by code points"),
        ("conditions apart", "are found by their key"),
        ("groups of all", "groups are distinct values"),
        ("twice", "append returns"),
        ("readings stay", "readings go with their events"),
    ],
)
def test_a_faulty_store_is_found_out(fault, promise, faulty, monkeypatch):
    monkeypatch.setattr(faulty, "fault", fault)
    if fault == "no lock":
        monkeypatch.setattr(dict_store, "WRITING", nullcontext())
    with pytest.raises(AssertionError, match=promise):
        check_store(f"dict://{secrets.token_hex(4)}")
