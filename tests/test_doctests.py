"""The examples in docstrings print what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")
    for base, package in ((ROOT / "src", "ethogram"), (ROOT, "benchmarks"))
    for path in (base / package).rglob("*.py")
    if b" >>> " in path.read_bytes()
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_print_what_they_show(name):
    results = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert results.attempted
    assert not results.failed
