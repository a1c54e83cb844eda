"""Store files for tests that damage them or offer others in their place, and every command that opens one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from ethogram.cli.main import main
from ethogram.usage.pseudonym import new_keys, write_keys
from settings_files import trusted_settings
from small import BOTH, GONE, HOT, WARM, turns, warm_messages, write_events, write_patterns

EVENTS, USAGE, KEY = "events.db", "usage.db", "the.key"

OF_EVENTS: dict[str, list[str]] = {
    "import": ["store", "import", "more.jsonl", "--keep-text"],
    "info": ["store", "info"],
    "store export": ["store", "export"],
    "store purge": ["store", "purge", "--subject", "ann"],
    "export-subject": ["store", "export-subject", "--subject", "ann"],
    "analyze": ["analyze"],
    "sweep": ["sweep", "--as-of", "2026-03-01T00:00:00Z"],
    "subject": ["store", "subject", "ann"],
    "subjects": ["store", "subject"],
    "risk": ["store", "risk"],
    "risk of one": ["store", "risk", "ann"],
    "verdict list": ["verdict", "--list"],
    "verdict second": ["verdict", "--second"],
    "verdict missed": ["verdict", "--missed", "gone_away", "--subject=ann", "--from=ann-1", "--to=ann-3"],
    "accuracy": ["patterns", "accuracy"],
    "calibration": ["patterns", "accuracy", "--calibration"],
    "learn": ["patterns", "learn"],
    "backtest": ["patterns", "backtest", "patterns/hot_for_long.yaml", "--shuffles", "0"],
    "shadow": ["patterns", "shadow"],
    "audit": ["usage", "audit", "--key", KEY],
}  # fmt: skip
"""Every command that opens a store of events, without `--store FILE`."""

OF_USE: dict[str, list[str]] = {
    "usage record": ["usage", "record", "more.jsonl", "--key", KEY],
    "usage signals": ["usage", "signals", "ann", "--key", KEY, "--as-of", "2026-03-01T00:00:00Z"],
    "usage sweep": ["usage", "sweep", "--key", KEY, "--as-of", "2026-03-01T00:00:00Z"],
    "usage audit": ["usage", "audit", "--key", KEY],
    "usage info": ["usage", "info", "--key", KEY],
    "usage key check": ["usage", "key", "check", "--key", KEY],
    "usage key rotate": ["usage", "key", "rotate", KEY],
    "export-subject": ["store", "export-subject", "--subject", "ann", "--key", KEY],
    "store purge": ["store", "purge", "--subject", "ann", "--key", KEY],
}
"""Every command that opens a usage store, likewise."""


def make_folder(folder: Path) -> None:
    """A folder with patterns, a store of events with detections and verdicts, a usage store and its key."""
    write_patterns(folder / "patterns", WARM, HOT, GONE, BOTH)
    trusted_settings(folder, "patterns: [patterns]\n")
    hot = turns("cy", [0.9, 0.9, 0.9, 0.97], [1, 2, 3, 4]) + turns("di", [0.9, 0.2, 0.9], [2, 3, 4])
    events = [*warm_messages(), *hot]
    for event in events:
        event |= {"text": f"words of {event['subject']} with é", "thread": "t1", "attributes": {"tool": "sh"}}
    write_events(folder / "all.jsonl", events)
    write_events(folder / "more.jsonl", turns("ed", [0.1, 0.9], [1, 2]))
    write_keys(folder / KEY, new_keys())
    store = ["--store", str(folder / EVENTS)]
    config = ["--config", str(folder / "ethogram.yaml")]
    assert main(["store", "import", str(folder / "all.jsonl"), "--keep-text", *store, *config]) == 0
    assert main(["sweep", "--as-of", "2026-02-01T00:00:00Z", *store, *config]) == 0
    with sqlite3.connect(folder / EVENTS) as raw:
        detections = [row[0] for row in raw.execute("SELECT id FROM detections ORDER BY id")]
    raw.close()
    assert len(detections) >= 3
    for detection, name in zip(detections, ("confirmed", "false_alarm"), strict=False):
        assert main(["verdict", detection, name, "--why", "seen", *store, *config]) == 0
    usage = ["--store", str(folder / USAGE), "--key", str(folder / KEY)]
    assert main(["usage", "record", str(folder / "all.jsonl"), *usage, *config]) == 0
    assert main(["usage", "sweep", "--as-of", "2026-02-01T00:00:00Z", *usage, *config]) == 0


def left_beside(path: Path) -> list[str]:
    """The files that SQLite left beside a database."""
    return sorted(item.name for item in path.parent.glob(f"{path.name}?*"))
