"""How hard the random tests look: `make test` repeats itself exactly, `make test-long` searches anew."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

from ethogram import registry

settings.register_profile("short", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("long" if os.environ.get("ETHOGRAM_TESTS") == "long" else "short")

# No test may touch what belongs to whoever runs them: settings, what they trust, caches, the hook's state.
_OWN = tempfile.mkdtemp(prefix="ethogram-tests-")
for _name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "ETHOGRAM_HOOK_DIR"):
    os.environ[_name] = os.path.join(_OWN, _name.lower())  # noqa: PTH118
atexit.register(shutil.rmtree, _OWN, ignore_errors=True)


@pytest.fixture(autouse=True)
def no_pattern_in_code_is_left_behind() -> Iterator[None]:
    """What a test or a page registers is gone after it: other tests look at all patterns there are."""
    before = set(registry.patterns.loaded())
    yield
    if new := set(registry.patterns.loaded()) - before:
        from ethogram.patterns.register import forget

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
