"""Fill a service with the example histories, as if they had just happened."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from ..app.demo import BY_HAND, Example, examples, highest_mode
from ..models import format_time, parse_time
from .state import Service


def fill(service: Service) -> int:
    """Store each example under its own source, shifted by whole days to end today; return the number."""
    now, total = service.now(), 0
    service.notice = notice()
    for example in examples():
        lines = [json.loads(text) for text in example.path.read_text(encoding="utf-8").splitlines()]
        last = max(parse_time(line["at"]) for line in lines)
        shift = timedelta(days=(now - last).days)
        body = "\n".join(json.dumps({**line, "at": _moved(line["at"], shift)}) for line in lines)
        received = service.intake.read(
            body.encode(), service.writer.kinds, source=source_of(example), now=now
        )
        total += service.writer.submit(received, now).result().added
    return total


def source_of(example: Example) -> str:
    return f"demo-{example.family}"


def notice() -> str:
    """Which examples have scores written by hand, and what `chat` says of the text of the chat among them."""
    by_hand = {source_of(example): example for example in examples() if example.has_scores_by_hand}
    if not by_hand:
        return ""
    text = f"Demo with {BY_HAND} in {', '.join(by_hand)}: detections by them show how patterns work, "
    text += "not what is found in real text."
    if chat := by_hand.get("demo-risk"):
        text += f" From the text of demo-risk, ethogram chat says {highest_mode(chat.path)}."
    return text


def _moved(at: str, by: timedelta) -> str:
    moment: datetime = parse_time(at) + by
    return format_time(moment)
