"""Detections, verdicts and hypothesis strategies for tests of risk."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from ethogram.models import SEVERITIES, Detection, Evidence, Verdict

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def detection(id: str = "d1", days_ago: float = 0.0, **given: Any) -> Detection:  # noqa: A002
    at = NOW - days_ago * DAY
    record: dict[str, Any] = {
        "id": id, "pattern": "loop", "version": "v1", "state": "closed", "subject": "ann", "target": None,
        "thread": None, "severity": "high", "confidence": 0.5, "opened_at": at, "detected_at": at,
        "closed_at": at,
        "first_event": "e1", "last_event": "e2", "count": 1, "details": {}, "confirms": (), "scorer": "given",
        "explanation": "", "recommendation": "", "evidence": (Evidence("opened", "e2", at, {}),),
        "history": {"subject": "ann"},
    }  # fmt: skip
    return Detection(**record | given)


def verdict(
    text: str = "confirmed", of: str | None = "d1", by: str = "ann", days_ago: float = 0.0, **given: Any
) -> Verdict:
    told = {"pattern": "loop", "version": "v1", "at": NOW - days_ago * DAY, "detection": of} | given
    return Verdict(text, by, **told)


PATTERNS = {
    "loop": "stuck",
    "errors": "stuck",
    "drift": "drift",
    "push": "",
    "both": "together",
    "trio": "stuck",
}
confidences = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


@st.composite
def detections(draw: Any, at_most: int = 8) -> list[Detection]:
    """Detections in which ties, combinations of combinations and every severity occur."""
    out: list[Detection] = []
    for number in range(draw(st.integers(0, at_most))):
        pattern = draw(st.sampled_from(sorted(PATTERNS)))
        ids = [item.id for item in out]
        made_of = pattern in ("both", "trio") and ids
        out.append(
            detection(
                f"d{number}",
                days_ago=draw(st.one_of(st.sampled_from([0.0, 7.0]), st.floats(0, 400))),
                pattern=pattern,
                cause=PATTERNS[pattern],
                severity=draw(st.sampled_from(SEVERITIES)),
                confidence=draw(confidences),
                state=draw(st.sampled_from(["opened", "closed", "closed"])),
                parts=tuple(draw(st.lists(st.sampled_from(ids), max_size=3, unique=True))) if made_of else (),
            )
        )
    return out


@st.composite
def verdicts(draw: Any, ids: list[str]) -> list[Verdict]:
    if not ids:
        return []
    said = st.sampled_from(["confirmed", "false_alarm"])
    item = st.builds(
        verdict, said, st.sampled_from(ids), st.sampled_from(["ann", "bo", "cy"]), st.floats(0.01, 300)
    )
    return draw(st.lists(item, max_size=6))
