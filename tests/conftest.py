"""How hard the random tests look: `make test` repeats itself exactly, `make test-long` searches anew."""

from __future__ import annotations

import os
import signal
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

# Nor read or write that person's own settings, or what they trust.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="ethogram-config-")

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


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Processes started by the test receive SIGINT, even if the test run was started with it ignored.

    A background job or supervisor ignores SIGINT, and children inherit that; a handler is not inherited.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
