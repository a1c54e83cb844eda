"""Every pattern of the library does what its examples state, on both engines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ethogram.app.pattern_tests import run_examples
from ethogram.config.trust import SUFFIXES
from ethogram.patterns.library import SHIPPED, Library, select

NAMES = sorted(path.stem for path in SHIPPED.rglob("*") if path.suffix in SUFFIXES)


@pytest.fixture(scope="module")
def library() -> Library:
    return select()


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_of_the_library_does_what_its_examples_state(library, name):
    results = run_examples(replace(library, chosen=(name,)))
    assert [str(result.fault) for result in results if not result.ok] == []
    assert {result.fires for result in results} == {True, False}
