"""Events that do not fit into memory: what is found on disk is what is found in memory."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ethogram.app.analyze import analyze_gathered
from ethogram.app.out_of_core import analyze_on_disk
from ethogram.cli.main import main
from ethogram.config import Settings
from ethogram.engine import detect
from ethogram.engine.detect import Whole, find, find_part
from ethogram.errors import BadEvents
from ethogram.ingest import (
    Batch,
    Limits,
    OnDisk,
    column_spill,
    gather_events,
    line_reader,
    read_events,
    reader,
)
from ethogram.ingest.batch import EventList
from ethogram.ingest.column_spill import ColumnBuckets
from ethogram.ingest.spill import Buckets, bucket_of, event_of_row, row_of, rows_of
from ethogram.language.compiler import compile_patterns
from ethogram.models import Event
from ethogram.patterns.library import load_patterns
from sampling import seeds
from strategies import KINDS, random_case
from waiting import PATIENCE_SECONDS, wait_until


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("many", [1, 5_000], ids=["columns", "live"])
def test_parts_change_nothing(kind: str, many: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(detect, "MANY_EVENTS", many)
    for seed in seeds(8, 25):
        case = random_case(seed, kind)
        events = sorted(case.events, key=lambda event: event.order)
        as_of = case.as_of or events[-1].at
        programs = compile_patterns(case.patterns)
        seen = [event for event in events if event.at <= as_of]
        theirs = find(programs, seen, as_of=as_of, cap=case.cap)
        whole = Whole(programs, as_of)
        for number in (2, 0, 1):
            part = EventList(e for e in seen if bucket_of(e.source, e.subject, 3) == number)
            whole.add(find_part(programs, part, as_of=as_of, cap=case.cap))
        ours = whole.result(EventList(random.Random(seed).sample(seen, len(seen))))
        assert [detection.to_dict() for detection in ours.detections] == [
            detection.to_dict() for detection in theirs.detections
        ]
        assert ours.insufficient == theirs.insufficient
        assert ours.checked == theirs.checked


def test_all_events_of_a_subject_are_in_one_bucket(tmp_path: Path):
    events = [Event.sample(id=str(k), seq=k, subject=f"s{k % 7}") for k in range(70)]
    with Buckets(count=4, folder=tmp_path) as buckets:
        for number, event in enumerate(events):
            buckets.put(row_of(event, number))
        buckets.flush()
        found = [[event_of_row(row) for row in rows_of(path)] for path in buckets.paths]
        assert [event_of_row(row) for row in buckets.all_rows()] == events
    assert sorted((event for some in found for event in some), key=lambda event: event.seq) == events
    for number, some in enumerate(found):
        assert all(bucket_of(event.source, event.subject, 4) == number for event in some)
    assert list(tmp_path.iterdir()) == []


# --- reading ----------------------------------------------------------------------------------


def lines_with_everything(seed: int, count: int = 120) -> list[str]:
    """Event lines with repeats, clashes, changed kinds, lacking times and lines that are no events."""
    rng = random.Random(seed)
    texts: list[str] = []
    for k in range(count):
        line: dict[str, Any] = {
            "id": f"e{rng.randrange(12)}" if rng.random() < 0.3 else f"e{count + k}",
            "at": f"2026-01-{1 + rng.randrange(28):02d}T10:{rng.randrange(60):02d}:00Z",
            "subject": f"s{rng.randrange(9)}",
            "source": rng.choice(["a", "b", "c"]),
            "readings": {"compassion": rng.random(), "odd": rng.random()},
            "attributes": {"n": [1, {"x": None}]},
        }
        if rng.random() < 0.1:
            line["readings"]["odd"] = "text"
        if line["source"] == "c" or (line["source"] == "b" and seed % 2 and rng.random() < 0.05):
            del line["at"]
        if rng.random() < 0.3:
            del line["id"]
        if rng.random() < 0.2:
            line |= {"thread": "t", "target": "bo", "reply_to": "e1", "session": "x", "text": "Hé?"}
            line["readings"]["MAN_INJECTION"] = {"value": 1, "scorer": "rubric", "width": 3}
        text = json.dumps(line)
        texts.append(text[:-1] if rng.random() < 0.03 else text)
        if rng.random() < 0.1:
            texts.append(rng.choice(texts))
    return texts


@pytest.mark.parametrize("seed", seeds(3, 12))
@pytest.mark.parametrize("memory", [1, 60_000])
def test_what_is_read_onto_disk_is_what_is_read_into_memory(seed: int, memory: int, tmp_path: Path):
    texts = lines_with_everything(seed)
    (tmp_path / "a.jsonl").write_text("\n".join(texts[:70]) + "\n")
    (tmp_path / "b.jsonl").write_text("\n".join(texts[70:]) + "\n")
    (tmp_path / "notes.md").write_text("nothing")
    room = tmp_path / "room"
    room.mkdir()
    theirs = read_events([tmp_path], skip_bad=True)
    ours = gather_events([tmp_path], skip_bad=True, memory=memory, folder=room)
    assert isinstance(ours, OnDisk)
    with ours:
        assert sorted(ours.events, key=lambda event: event.order) == list(theirs.events)
        assert len(ours.events) == len(theirs.events)
        assert ours.newest == max(event.at for event in theirs.events)
        for name in ("bad", "bad_count", "repeated", "timed", "files", "skipped", "not_events", "strays"):
            assert getattr(ours, name) == getattr(theirs, name), name
    assert theirs.bad_count
    assert theirs.repeated
    assert list(room.iterdir()) == []


def test_bad_lines_are_told_with_the_same_words_and_leave_nothing_behind(tmp_path: Path):
    path, room = tmp_path / "a.jsonl", tmp_path / "room"
    path.write_text("\n".join(lines_with_everything(3)))
    room.mkdir()
    with pytest.raises(BadEvents) as theirs:
        read_events([path])
    with pytest.raises(BadEvents) as ours:
        gather_events([path], memory=1, folder=room)
    assert ours.value.faults == theirs.value.faults
    assert ours.value.more == theirs.value.more
    assert any("has other content at" in str(fault) for fault in ours.value.faults)
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("repeats", [0, 5])
def test_the_limit_of_events_counts_those_that_are_kept(repeats: int, tmp_path: Path):
    path = tmp_path / "a.jsonl"
    told = [json.dumps({"id": f"e{k}", "subject": "s"}) for k in range(20)]
    path.write_text("\n".join(told[:10] + told[:repeats] + told[10:]))
    found = gather_events([path], memory=1, limits=Limits(events=20))
    assert isinstance(found, OnDisk)
    with found:
        assert (len(found.events), found.repeated) == (20, repeats)
    for read in (read_events, gather_events):
        more = {"memory": 1} if read is gather_events else {}
        with pytest.raises(BadEvents, match="more than 19 events") as error:
            read([path], limits=Limits(events=19), **more)
        assert error.value.faults[0].line == 20 + repeats


def test_few_events_stay_in_memory(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"subject": "s"}))
    assert isinstance(gather_events([path], memory=10_000), Batch)


# --- analyzing --------------------------------------------------------------------------------

EXAMPLES = Path(__file__).parents[2] / "src" / "ethogram" / "data" / "examples"


def told_by(args: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(args)
    said = capsys.readouterr()
    return code, said.out, said.err


OPTIONS: list[list[str]] = [
    ["--json", "--excerpts", "--insufficient"],
    ["--insufficient", "--html", "page.html"],
]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_command_says_the_same_whatever_memory_there_is(
    options: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    (tmp_path / "a.jsonl").write_text("\n".join(lines_with_everything(4)))
    paths = [str(EXAMPLES), "a.jsonl", "--skip-bad"]
    theirs = told_by(["analyze", *paths, *options], capsys)
    page = Path("page.html").read_text() if Path("page.html").exists() else ""
    monkeypatch.setenv("ETHOGRAM_MEMORY", "1000")
    ours = told_by(["analyze", *paths, *options], capsys)
    assert ours == theirs
    assert "detection" in theirs[1]
    assert (Path("page.html").read_text() if page else "") == page


def test_a_store_is_looked_at_the_same_whatever_memory_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    assert main(["store", "import", str(EXAMPLES), "--store", "events.db"]) == 0
    capsys.readouterr()
    theirs = told_by(["analyze", "--store", "events.db", "--json"], capsys)
    monkeypatch.setenv("ETHOGRAM_MEMORY", "1000")
    assert told_by(["analyze", "--store", "events.db", "--json"], capsys) == theirs
    assert '"record": "detection"' in theirs[1]


THREADS = """
name: slow_answer
title: A slow answer
status: experimental
description: An answer that took more than an hour.
triage: Look at it.
false_positives: [Everybody sleeps.]
misses: [Quick answers.]
group_by: [subject]
shape:
  sequence:
    - slow: reply_gap > 3600
confidence: 0.5
severity: low
explanation: "{subject} took {slow.reply_gap:.0f} seconds."
recommendation: Wait.
examples:
  fires:
    - {story: one hour and a second, reply_gap: [3601], at: 1}
  quiet:
    - {story: one hour, reply_gap: [3600]}
    - {story: at once, reply_gap: [1]}
"""


def test_what_others_did_in_a_thread_counts_though_they_are_in_another_bucket(tmp_path: Path):
    file = tmp_path / "slow_answer.yaml"
    file.write_text(THREADS)
    rng = random.Random(1)
    told = [
        {"id": f"e{k}", "at": f"2026-01-{k // 24 + 1:02d}T{k % 24:02d}:{rng.randrange(60):02d}:00Z"}
        | {"subject": f"s{rng.randrange(12)}", "thread": f"t{rng.randrange(3)}"}
        for k in range(200)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, told)))
    library = load_patterns([file])
    theirs = analyze_gathered(read_events([path]), library)
    with gather_events([path], memory=1) as found:
        ours = analyze_gathered(found, library, traced=True)
    assert [*ours.to_dicts()] == [*theirs.to_dicts()]
    assert len(theirs.detections) > 5


def test_processes_of_our_own_find_the_same(tmp_path: Path):
    library = load_patterns()
    theirs = analyze_gathered(read_events([EXAMPLES], kinds=library.kinds), library, traced=True)
    with gather_events([EXAMPLES], kinds=library.kinds, memory=1) as found:
        ours = analyze_on_disk(found, library, Settings(), traced=True, workers=2)
    assert [*ours.to_dicts()] == [*theirs.to_dicts()]
    assert ours.traces == theirs.traces
    assert theirs.detections


@pytest.mark.parametrize("has_ids", [True, False])
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("bare", [True, False])
def test_columns_on_disk_are_the_columns_in_memory(
    has_ids: bool, timed: bool, bare: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "COLUMNS_FROM", 0)
    monkeypatch.setattr(line_reader, "CHUNK", 2_000)
    monkeypatch.setattr(line_reader, "MANY_SIGNALS", 2)
    monkeypatch.setattr(column_spill, "MOST_KNOWN", 2 if has_ids else 500_000)
    rng = random.Random(5)
    lines = []
    for k in range(300):
        compassion, manipulation = (*[(0.4, 0.1)] * 5, *[(0.9, 0.1)] * 4, (0.1, 0.9))[k // 3 % 10]
        readings = {"compassion": compassion, "manipulation": manipulation}
        line: dict[str, Any] = {"subject": f"s{k % 3}", "readings": readings}
        if has_ids:
            line["id"] = f"e{k}"
        if timed:
            line["at"] = f"2026-01-{k // 24 + 1:02d}T{k % 24:02d}:00:00Z"
        if not bare:
            line |= {"target": "s3", "kind": rng.choice(["message", "action"])}
            line |= {"text": rng.choice(["Act now!", "Hello"]), "attributes": {"n": [k]}}
            line["readings"]["mood"] = rng.choice(["glad", "sad"])
            line["readings"] |= {rng.choice(["MAN_LOVEBOMB", "MAN_INJECTION"]): 0.5} if k % 7 == 0 else {}
            if rng.random() < 0.5:
                line["thread"] = f"t{rng.randrange(3)}"
        lines.append(json.dumps(line))
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(lines))
    library = load_patterns()
    batch = read_events([path], kinds=library.kinds)
    theirs = analyze_gathered(batch, library, traced=True)
    with gather_events([path], kinds=library.kinds, memory=1, folder=tmp_path) as found:
        assert isinstance(found.events.buckets, ColumnBuckets)
        assert sorted(found.events, key=lambda event: event.order) == list(batch.events)
        assert (len(found.events), found.newest) == (300, batch.events[-1].at)
        assert found.events.counts("source", "subject") == batch.events.counts("source", "subject")
        assert [found.events.has(name) for name in ("text", "session")] == [not bare, False]
        ours = analyze_gathered(found, library, traced=True)
    assert [*ours.to_dicts()] == [*theirs.to_dicts()]
    assert ours.traces == theirs.traces
    assert bare or theirs.detections
    assert list(tmp_path.iterdir()) == [path]


def test_an_id_that_comes_twice_leaves_columns_on_disk_to_the_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "COLUMNS_FROM", 0)
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"id": name, "subject": f"s{name}"}) for name in "abca"))
    with gather_events([path], memory=1, folder=tmp_path) as found:
        assert not isinstance(found.events.buckets, ColumnBuckets)
        assert (len(found.events), found.repeated) == (3, 1)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("chunk", [300, 1_000])
def test_lines_decoded_in_processes_are_the_same_events(
    timed: bool, chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, "COLUMNS_FROM", 0)
    monkeypatch.setattr(line_reader, "CHUNK", chunk)
    lines = []
    for k in range(60):
        line: dict[str, Any] = {"subject": f"s{k % 7}", "readings": {"compassion": k / 100}}
        line |= {"at": f"2026-01-{k // 24 + 1:02d}T{k % 24:02d}:00:00Z"} if timed else {}
        line |= {"id": f"e{k}", "text": "x" * 700} if k % 20 == 3 else {}
        lines.append(json.dumps(line) + ("\r\n" if k % 5 == 0 else "\n") + "\n" * (k % 9 == 0))
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(lines).rstrip().encode())
    theirs = read_events([path])
    with gather_events([path], memory=2**30, jobs=2, folder=tmp_path) as found:
        assert isinstance(found, OnDisk)
        assert isinstance(found.events.buckets, ColumnBuckets)
        assert sorted(found.events, key=lambda event: event.order) == list(theirs.events)
    path.write_bytes(path.read_bytes() + b"\n{no event\n")
    with pytest.raises(BadEvents) as fault:
        read_events([path])
    with pytest.raises(BadEvents) as ours:
        gather_events([path], memory=2**30, jobs=2, folder=tmp_path)
    assert ours.value.faults == fault.value.faults
    assert list(tmp_path.iterdir()) == [path]


# --- large ------------------------------------------------------------------------------------


def write_events(path: Path, megabytes: int) -> int:
    """How many event lines of 4,000 subjects, interleaved, were written until the file has its size."""
    rng, seq, text = random.Random(7), 0, "x" * 120
    with path.open("w") as file:
        while file.tell() < megabytes << 20:
            for k in range(seq, seq + 1000):
                at = f"2026-01-{1 + k % 28:02d}T10:00:00Z"
                readings = f'"compassion": {rng.random():.3f}, "manipulation": {rng.random():.3f}'
                file.write(
                    f'{{"id": "e{k}", "subject": "s{k % 4000}", "at": "{at}",'
                    f' "text": "{text}", "readings": {{{readings}}}}}\n'
                )
            seq += 1000
    return seq


PEAK = """
import os, resource, subprocess, sys, threading, time
limit = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from pathlib import Path

def held():
    "Bytes in memory of this process and of those it started."
    total, mine = 0, {os.getpid()}
    for stat in sorted(Path("/proc").glob("[0-9]*/stat"), key=lambda one: int(one.parts[2])):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parts[2]) in mine or int(fields[1]) in mine:
            mine.add(int(stat.parts[2]))
            total += int(fields[21]) * 4096
    return total

peak = 0
def watch():
    global peak
    while True:
        peak = max(peak, held())
        time.sleep(0.05)

threading.Thread(target=watch, daemon=True).start()
from ethogram.cli.main import main
code = main(["analyze", sys.argv[2], "--json", "--patterns", "love_bombing"])
print(peak >> 20, file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize(
    ("megabytes", "limit", "memory"),
    [(16, 150, 10_000_000), pytest.param(300, 600, 100_000_000, marks=pytest.mark.long)],
)
def test_input_larger_than_memory(megabytes: int, limit: int, memory: int, tmp_path: Path):
    path = tmp_path / "events.jsonl"
    events = write_events(path, megabytes)
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "ETHOGRAM_MEMORY": str(memory), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", PEAK, str(limit), str(path)],
        env=env,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (summary["events"], summary["subjects"]) == (events, 4000)
    assert int(done.stderr.split()[-1]) < limit
    assert [path.name for path in tmp_path.iterdir()] == ["events.jsonl"]


def test_ctrl_c_removes_the_temporary_folder(tmp_path: Path):
    path, room = tmp_path / "events.jsonl", tmp_path / "room"
    room.mkdir()
    write_events(path, 32)
    env = {**os.environ, "ETHOGRAM_MEMORY": "1000", "TMPDIR": str(room)}
    for until in ("reading", "checking"):
        running = subprocess.Popen(
            [sys.executable, "-m", "ethogram", "analyze", str(path)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wanted = 1 if until == "reading" else 8 << 20

        def has_spilled() -> bool:
            assert running.poll() is None, "it ended before it was interrupted"  # noqa: B023
            return sum(path.stat().st_size for path in room.glob("*/*")) >= wanted  # noqa: B023

        wait_until(has_spilled, f"{wanted:,} bytes in the temporary folder")
        running.send_signal(signal.SIGINT)
        said, errors = running.communicate(timeout=PATIENCE_SECONDS)
        assert (running.returncode, said) == (130, b""), errors
        assert list(room.iterdir()) == []
