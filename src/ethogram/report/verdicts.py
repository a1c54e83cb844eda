"""Verdicts as text: the reliability plot of a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .wording import counts_text, precision_text, within

if TYPE_CHECKING:
    from ..risk.calibration import Reliability

__all__ = ["NO_VERDICTS", "counts_text", "plot", "precision_text", "within"]

NO_VERDICTS = "insufficient verdicts: none; see `ethogram verdict`"
WIDE, HIGH = 41, 11
"""Columns and rows of the plot."""


def plot(calibrated: Reliability) -> Iterator[str]:
    """Confidence (across) against share right (up): o a group, . the diagonal, - the calibrated curve."""
    cells = [[" "] * WIDE for _ in range(HIGH)]

    def put(x: float, y: float, mark: str) -> None:
        cells[round((1 - y) * (HIGH - 1))][round(x * (WIDE - 1))] = mark

    columns = [column / (WIDE - 1) for column in range(WIDE)]
    for x in columns:
        put(x, x, ".")
    for x in columns:
        put(x, calibrated.calibration(x), "-")
    for row in calibrated.rows:
        put(row.said, row.share, "o")
    for index, line in enumerate(cells):
        label = {0: "1.0", (HIGH - 1) // 2: "0.5", HIGH - 1: "0.0"}.get(index, "")
        yield f"  {label:>4} |{''.join(line).rstrip()}"
    yield f"       +{'-' * WIDE}"
    yield f"        0{'confidence':^{WIDE - 2}}1"
