"""Events that do not fit into memory: found in buckets on disk as they are in one piece."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ethogram.detections.find import find
from ethogram.detections.large import find_large
from ethogram.records import Event
from ethogram.shapes.batch.buckets import Buckets, bucket_of
from ethogram.shapes.compile import compile_patterns
from strategies import KINDS, random_case


@pytest.mark.parametrize("kind", KINDS)
def test_buckets_change_nothing(kind: str):
    for seed in range(40):
        case = random_case(seed, kind)
        events = sorted(case.events, key=lambda event: event.order)
        as_of = case.as_of or events[-1].at
        programs = compile_patterns(case.patterns)
        seen = [event for event in events if event.at <= as_of]
        theirs = find(programs, seen, as_of=as_of, cap=case.cap)
        with Buckets(case.events, count=3) as buckets:
            ours = find_large(programs, buckets, as_of=case.as_of, cap=case.cap)
        assert [one.to_dict() for one in ours.detections] == [one.to_dict() for one in theirs.detections]
        assert ours.insufficient == theirs.insufficient
        assert ours.checked == theirs.checked


def test_all_events_of_a_subject_are_in_one_bucket_and_repeats_are_dropped():
    events = [Event.sample(id=str(k), seq=k, subject=f"s{k % 7}") for k in range(70)]
    shuffled = random.Random(0).sample(events, len(events))
    with Buckets([*shuffled, *shuffled[:9]], count=4) as buckets:
        found = list(buckets)
        paths = buckets.paths
    assert sorted(event.seq for some in found for event in some) == list(range(70))
    for number, some in enumerate(found):
        assert all(bucket_of(event, 4) == number for event in some)
        assert some == sorted(some, key=lambda event: event.order)
    assert not any(path.exists() for path in paths)


def test_the_folder_is_removed_when_reading_fails(tmp_path: Path):
    def broken() -> Iterator[Event]:
        yield Event.sample(id="a")
        raise ValueError("bad line")

    with pytest.raises(ValueError, match="bad line"):
        Buckets(broken(), folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


SCRIPT = """
import json, resource, sys
from pathlib import Path
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from ethogram.detections.large import find_large
from ethogram.records import Event, parse_time
from ethogram.shapes.batch.buckets import Buckets
from ethogram.shapes.compile import compile_patterns
from ethogram.shapes.tree import Compare, Level, Measure, Number, Pattern, Sequence, Signal, Step, Window

def events(path):
    with open(path) as lines:
        for seq, line in enumerate(lines):
            told = json.loads(line)
            told["at"] = parse_time(told["at"])
            yield Event(seq=seq, **told)

def over(name, value):
    return Compare(">", Signal(name), Number(value))

mean = Measure("mean", Signal("manipulation"), Window(at_least=5))
steps = (Step("a", over("compassion", 0.97), times=2), Step("b", over("manipulation", 0.9)))
patterns = [
    Pattern("high", Level(Compare(">", mean, Number(0.7))), confidence=mean),
    Pattern("turn", Sequence(steps, gaps=0)),
]
with Buckets(events(sys.argv[2]), folder=Path(sys.argv[3])) as buckets:
    found = find_large(compile_patterns(patterns), buckets)
print(len(found.detections), found.checked["high"], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
"""


def write_events(path: Path, megabytes: int) -> None:
    """Event lines of many subjects, interleaved, until the file has its size."""
    rng, seq, text = random.Random(7), 0, "x" * 120
    with path.open("w") as file:
        while file.tell() < megabytes << 20:
            for k in range(seq, seq + 1000):
                at = f"2026-01-{1 + k % 28:02d}T10:00:00Z"
                readings = f'"compassion": {rng.random():.3f}, "manipulation": {rng.random():.3f}'
                file.write(
                    f'{{"id": "e{k}", "subject": "s{rng.randrange(4000)}", "at": "{at}",'
                    f' "text": "{text}", "readings": {{{readings}}}}}\n'
                )
            seq += 1000


@pytest.mark.parametrize(("megabytes", "limit"), [(12, 80), pytest.param(300, 600, marks=pytest.mark.long)])
def test_input_larger_than_memory_goes_through_buckets(megabytes: int, limit: int, tmp_path: Path):
    path = tmp_path / "events.jsonl"
    write_events(path, megabytes)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(limit), str(path), str(tmp_path)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    detections, histories, _ = map(int, done.stdout.split())
    assert detections > 0
    assert histories == 4000
