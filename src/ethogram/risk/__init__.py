"""Risk, verdicts, calibration and tuning: pure functions over records.

Nothing here reads the clock, a file or a store: time is an argument and randomness is seeded.
"""

from __future__ import annotations
