"""How hard the random tests look: `make test` repeats itself exactly, `make test-long` searches anew."""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

settings.register_profile("short", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("long" if os.environ.get("ETHOGRAM_TESTS") == "long" else "short")

# No test may touch what a hook of whoever runs the tests knows.
os.environ["ETHOGRAM_HOOK_DIR"] = os.path.join(tempfile.mkdtemp(prefix="ethogram-hook-"), "state")  # noqa: PTH118

# What commands keep for the next time is kept for all tests alike, and nowhere else.
os.environ["XDG_CACHE_HOME"] = os.path.join(tempfile.gettempdir(), f"ethogram-tests-{os.getuid()}")  # noqa: PTH118
