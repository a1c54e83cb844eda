"""Every pattern of the library does what its examples state, on every runner."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ethogram.app.pattern_tests import prove
from ethogram.config.trust import SUFFIXES
from ethogram.patterns.library import SHIPPED, Library, select

NAMES = sorted(path.stem for path in SHIPPED.rglob("*") if path.suffix in SUFFIXES)


@pytest.fixture(scope="module")
def library() -> Library:
    return select()


@pytest.mark.parametrize("name", NAMES)
def test_a_pattern_of_the_library_does_what_its_examples_state(library, name):
    proofs = prove(replace(library, chosen=(name,)))
    assert [str(proof.fault) for proof in proofs if not proof.ok] == []
    assert {proof.fires for proof in proofs} == {True, False}
