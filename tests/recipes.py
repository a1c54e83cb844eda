"""The recipes under examples/ as modules, for tests."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
TASK = "Make the tests pass."
STUCK = "no-such-tool --check"
NAMED = "3 times in a row with the same error"


def recipe(name: str, *packages: str) -> ModuleType:
    """A recipe as a module; a missing package is a failure where everything is to be tested."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"{package} is not installed: pip install -c constraints.txt -e '.[dev]'")
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Annotations of a graph's nodes are looked up in the module they stand in.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def nobody(question: str) -> bool:
    raise AssertionError(f"nobody should be asked: {question}")
