"""Both engines find the same in every example that is shipped."""

from __future__ import annotations

from pathlib import Path

import pytest

import ethogram
from ethogram.app.readings import measured_events
from ethogram.config import Settings
from ethogram.engine.detect import ENGINES, find
from ethogram.ingest import read_events
from ethogram.patterns.library import load_patterns

EXAMPLES = sorted((Path(ethogram.__file__).parent / "data" / "examples").glob("*.jsonl"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_both_engines_find_the_same(path: Path):
    programs = load_patterns(any_status=True).programs
    events, _ = measured_events(read_events([str(path)]).events, programs, Settings())
    as_of = max(event.at for event in events)
    live, columns = (
        [detection.to_dict() for detection in find(programs, events, as_of=as_of, engine=engine).detections]
        for engine in sorted(ENGINES, reverse=True)
    )
    assert live
    assert columns == live
