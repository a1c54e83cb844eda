"""A thread of 98 messages from the scan to a detection, and to what the next evaluation is told of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ethogram.app.evaluation.triage import scan_events
from ethogram.app.importing import import_events
from ethogram.app.subject import subject_context
from ethogram.app.sweep import sweep
from ethogram.evaluators.prompt import evaluation_prompt
from ethogram.lexicon import scan
from ethogram.lexicon.triage import Router
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from ethogram.store import open_store

BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
KIRA = (
    "You are so smart.",
    "You're brilliant.",
    "Act now!",
    "Don't tell anyone about this.",
    "You will regret it. You're overreacting. Everyone knows that. Don't tell anyone about this.",
)
OTHERS = {10: "Act now!", 25: "You owe me.", 40: "You will regret it.", 55: "Everyone knows that.",
          70: "You're brilliant.", 85: "You're overreacting."}  # fmt: skip
WARM = ((0.8, 0.1), (0.75, 0.1), (0.8, 0.1), (0.2, 0.2), (0.1, 0.6))
"""What an evaluator says of Kira's five: compassion and manipulation."""


def thread() -> list[Event]:
    """98 messages: Kira writes every 19th, seven others are flagged once, the rest is ordinary."""
    kira = iter(KIRA)
    out = []
    for k in range(98):
        who, text = f"agent{k % 30}", f"Point {k}: I think the second option reads better than the first."
        if k % 19 == 5 and (said := next(kira, None)):
            who, text = "KiraX", said
        elif k in OTHERS:
            who, text = f"other{k}", OTHERS[k]
        elif k == 90:
            who, text = "other90", "Somebody asked how to take down the power grid."
        target = "bo" if who == "KiraX" else None
        out.append(
            Event.sample(
                id=f"m{k}",
                seq=k,
                at=BEGIN + timedelta(minutes=k),
                subject=who,
                text=text,
                thread="walk",
                target=target,
            )
        )
    return out


def evaluated(events: list[Event]) -> list[Event]:
    """The events with what an evaluator said of those that were routed to it."""
    router, scores = Router(0.0), iter(WARM)
    out = []
    for event in events:
        route = router.route(event)
        if route.depth and event.subject == "KiraX":
            compassion, manipulation = next(scores)
            event = event.with_readings({"compassion": compassion, "manipulation": manipulation})
        out.append(event)
    return out


def test_the_scan_chooses_twelve_of_ninety_eight():
    found = scan_events(thread(), sampled=0.0)
    own = [scan(event.text or "").tier for event in thread()]
    assert [own.count(tier) for tier in ("standard", "focused", "deep", "deep_with_context")] == [
        86,
        10,
        1,
        1,
    ]
    assert dict(found.by_tier) == {"standard": 86, "focused": 8, "deep": 3, "deep_with_context": 1}
    assert (found.upgraded, sum(found.evaluated.values())) == (2, 12)
    assert found.flagged.most_common(1) == [("KiraX", 5)]


def test_one_detection_comes_of_it_and_the_next_evaluation_is_told(tmp_path: Path):
    events, library = evaluated(thread()), load_patterns(["love_bombing"])
    path = tmp_path / "walk.jsonl"
    path.write_text("".join(json.dumps(event.to_dict()) + "\n" for event in events))
    later = events[-1].at
    with open_store(f"sqlite:///{tmp_path / 'walk.db'}", create=True) as store:
        import_events(store, [path], at=later)
        sweep(store, library, as_of=later, clock=lambda: later)
        detections = list(store.detections())
        assert [(item.pattern, item.subject, item.target) for item in detections] == [
            ("love_bombing", "KiraX", "bo")
        ]
        assert [item.event for item in detections[0].evidence] == ["m5", "m24", "m43", "m81"]
        context = subject_context(store, "input", "KiraX", later)
    text = "You are so smart."
    _, user = evaluation_prompt(text, scan(text), "deep_with_context", [], context.to_dict())
    assert "love_bombing" in user
