"""Risk that adds up, verdicts, and patterns that get better: pure functions over records.

Nothing here reads the clock, a file or a store; time is an argument and randomness has a seed.
"""

from __future__ import annotations
