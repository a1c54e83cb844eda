"""How hard the random tests look: `make test` repeats itself exactly, `make test-long` searches anew."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from ethogram import registry

settings.register_profile("short", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("long" if os.environ.get("ETHOGRAM_TESTS") == "long" else "short")

# No test may touch what a hook of whoever runs the tests knows.
os.environ["ETHOGRAM_HOOK_DIR"] = os.path.join(tempfile.mkdtemp(prefix="ethogram-hook-"), "state")  # noqa: PTH118

# What commands keep for the next time is kept for all tests alike, and nowhere else.
os.environ["XDG_CACHE_HOME"] = os.path.join(tempfile.gettempdir(), f"ethogram-tests-{os.getuid()}")  # noqa: PTH118
os.environ["XDG_STATE_HOME"] = os.path.join(os.environ["XDG_CACHE_HOME"], "state")  # noqa: PTH118


@pytest.fixture(autouse=True)
def no_pattern_in_code_is_left_behind() -> Iterator[None]:
    """What a test or a page registers is gone after it: other tests look at all patterns there are."""
    before = set(registry.patterns.loaded())
    yield
    if new := set(registry.patterns.loaded()) - before:
        from ethogram.in_code.register import forget

        for name in new:
            forget(name)
