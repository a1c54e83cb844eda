"""Fill a service with the example histories, as if they had just happened."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from ..app.demo import examples
from ..models import format_time, parse_time
from .state import Service


def fill(service: Service) -> int:
    """Store each example under its own source, shifted by whole days to end today; return the number."""
    now, total = service.now(), 0
    for example in examples():
        lines = [json.loads(text) for text in example.path.read_text(encoding="utf-8").splitlines()]
        last = max(parse_time(line["at"]) for line in lines)
        shift = timedelta(days=(now - last).days)
        body = "\n".join(json.dumps({**line, "at": _moved(line["at"], shift)}) for line in lines)
        received = service.intake.read(
            body.encode(), service.writer.kinds, source=f"demo-{example.family}", now=now
        )
        total += service.writer.submit(received, now).result().added
    return total


def _moved(at: str, by: timedelta) -> str:
    moment: datetime = parse_time(at) + by
    return format_time(moment)
