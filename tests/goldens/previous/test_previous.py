"""Stores and files that the version before wrote open, and answer what they answered to that version.

Where signals measure something else since, and so have a new version, its answers differ on purpose: an
import under other signals begins anew and reads known files again, and the next sweep looks at every subject.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from golden_text import difference
from goldens.previous import asking


def check(name: str, text: str) -> None:
    changed = difference(asking.ANSWERS / f"{name}.txt", text)
    assert not changed, f"stores of the version before answer something else now\n{changed}"


@pytest.mark.parametrize("kind", asking.KINDS)
def test_a_store_of_events_answers_as_before(kind: str, new_url: Callable[[str], str], tmp_path: Path):
    url = "events.db" if kind == "sqlite" else new_url(kind)
    check("events", asking.answers_of_events(kind, url, tmp_path))


@pytest.mark.parametrize("kind", asking.KINDS)
def test_a_store_of_pseudonyms_answers_as_before(kind: str, new_url: Callable[[str], str], tmp_path: Path):
    url = "events.db" if kind == "sqlite" else new_url(kind)
    check("private", asking.answers_of_private(kind, url, tmp_path))


@pytest.mark.parametrize("name", asking.PEOPLE)
def test_a_store_of_use_answers_as_before(name: str, tmp_path: Path):
    check(name, asking.answers_of_people(name, tmp_path))
