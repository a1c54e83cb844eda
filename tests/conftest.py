"""How hard the random tests look: `make test` repeats itself exactly, `make test-long` searches anew."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("short", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("long", deadline=None, max_examples=5_000)
settings.load_profile("long" if os.environ.get("ETHOGRAM_TESTS") == "long" else "short")
