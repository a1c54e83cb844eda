"""kill -9 at random moments: nothing acknowledged is lost, nothing doubled, and it opens at once.

Ten kills in `make test`, a hundred in `make test-long`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ethogram.app.importing import Options, import_events
from ethogram.store import open_store
from small import turns, write_events
from stores_support import LATER
from waiting import PATIENCE_SECONDS

KILLS = 100 if os.environ.get("ETHOGRAM_TESTS") == "long" else 10
EVENTS = 3000
IMPORTER = """
import sys
from datetime import UTC, datetime
from ethogram.app.importing import Options, import_events
from ethogram.store import open_store
from ethogram.config import Settings
from ethogram.app.importing import known_kinds
with open_store(sys.argv[1], create=True) as store:
    known_kinds(Settings())  # so that what follows is the import and not the loading of code
    print("go", flush=True)
    done = import_events(store, sys.argv[2:], at=datetime(2026, 6, 1, tzinfo=UTC), options=Options(batch=100))
    print("done", done.added, flush=True)
"""
IN_STEPS = """
import sys, time
from datetime import UTC, datetime
from ethogram.app.importing import Options, import_events
from ethogram.store import open_store
left = int(sys.argv[2])
def tell(*_):
    global left
    left -= 1
    print("batch", flush=True)
    if not left:
        time.sleep(600)
with open_store(sys.argv[1], create=True) as store:
    print("go", flush=True)
    options = Options(batch=100)
    at = datetime(2026, 6, 1, tzinfo=UTC)
    print("done", import_events(store, sys.argv[3:], at=at, options=options, progress=tell).added, flush=True)
"""
"""An import that tells of each batch it has staged, and waits after as many as it is asked to."""
FIRST_BATCH = """
import signal, sys
from ethogram.cli.main import main
from ethogram.cli.output import Progress
def wait(*_):
    print("staged", flush=True)
    signal.pause()
Progress.read = wait
sys.exit(main(sys.argv[1:]))
"""
"""The command, which waits for a signal once it has staged a batch."""
OBSERVER = """
import sys
from datetime import UTC, datetime, timedelta
from ethogram.models import Event
from ethogram.store import open_store
first = int(sys.argv[2])
with open_store(sys.argv[1], create=True) as store:
    print("go", flush=True)
    for i in range(first, first + 100_000):
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=i)
        store.add([Event(id=f"e{i}", at=at, subject=f"s{i % 7}", seq=i, readings={"risk": 0.5})])
        print(i, flush=True)
"""


def start(code: str, *args: str) -> subprocess.Popen[str]:
    """The process, once it has opened the store."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "go\n", process.stderr.read()
    return process


def kill(process: subprocess.Popen[str], after: float) -> list[str]:
    """What a process said in the time it had."""
    time.sleep(after)
    process.send_signal(signal.SIGKILL)
    # Not `communicate`, which leaves out what was read ahead.
    said = process.stdout.read()
    process.communicate(timeout=PATIENCE_SECONDS)
    return said.split()


def is_whole(path: Path) -> bool:
    with open_store(str(path)) as store, store.reading() as connection:
        checked = connection.execute("PRAGMA integrity_check").fetchone()[0]
        orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    return checked == "ok" and not orphans


def test_a_killed_import_is_wholly_there_or_wholly_not_and_goes_on(tmp_path):
    rng = random.Random(KILLS)
    lines = [
        {**turn, "id": f"{turn['id']}-{i}"}
        for i in range(EVENTS // 28)
        for turn in turns(f"s{i}", [0.5] * 28, range(1, 29))
    ]
    files = [write_events(tmp_path / f"{name}.jsonl", lines[i::2]) for i, name in enumerate("ab")]
    path, whole = tmp_path / "store.db", 0
    resumed = []
    for number in range(KILLS // 2):
        # Around some batch: the first time exactly after it, then a moment later, which may be any.
        batches = rng.randrange(1, EVENTS // 100 - 5)
        process = start(IN_STEPS, str(path), str(0 if number else batches), *map(str, files))
        texts = []
        while texts.count("batch") < batches and (line := process.stdout.readline()):
            texts += line.split()
        texts += kill(process, after=rng.uniform(0, 0.02 if number else 0))
        with open_store(str(path)) as store:
            count = store.info().events
            resumed += [item.staged for item in store.imports()]
        assert count in (0, len(lines))
        assert "done" not in texts or count == len(lines)
        assert is_whole(path)
        if count:
            whole += 1
            path.unlink()
            for beside in tmp_path.glob("store.db-*"):
                beside.unlink()
    with open_store(str(path), create=True) as store:
        import_events(store, files, at=LATER, options=Options(batch=100))
        ids = [event.id for event in store.events()]
        assert len(ids) == len(set(ids)) == len(lines)
        assert store.imports() == []
    assert any(resumed), "no kill fell into an import"


def test_what_a_killed_observer_acknowledged_is_there_once(tmp_path):
    rng = random.Random(KILLS)
    path = tmp_path / "store.db"
    acknowledged = -1
    for _ in range(KILLS - KILLS // 2):
        texts = kill(start(OBSERVER, str(path), str(acknowledged + 1)), after=rng.uniform(0, 0.3))
        acknowledged = max([acknowledged, *(int(item) for item in texts if item.isdigit())])
        with open_store(str(path)) as store:
            seqs = sorted(event.seq for event in store.events())
            counted = sum(subject.events for subject in store.subjects())
        # One more than was acknowledged may be there: it was killed before it could say so.
        assert seqs == list(range(len(seqs)))
        assert len(seqs) in (acknowledged + 1, acknowledged + 2)
        assert counted == len(seqs)
        assert is_whole(path)


def test_a_reader_sees_whole_imports_only_while_another_process_writes(tmp_path):
    lines = [
        {**turn, "id": f"{turn['id']}-{i}"}
        for i in range(100)
        for turn in turns(f"s{i}", [0.5] * 28, range(1, 29))
    ]
    file = write_events(tmp_path / "a.jsonl", lines)
    path = tmp_path / "store.db"
    process = start(IMPORTER, str(path), str(file))
    seen = set()
    with open_store(str(path)) as store:
        while process.poll() is None:
            seen.add(sum(1 for _ in store.events()))
        seen.add(sum(1 for _ in store.events()))
    assert process.communicate()[0] == f"done {len(lines)}\n"
    assert seen <= {0, len(lines)}
    assert len(lines) in seen


@pytest.mark.parametrize("signal_sent", [signal.SIGINT])
def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(tmp_path, signal_sent):
    lines = [
        {**turn, "id": f"{turn['id']}-{i}"}
        for i in range(430)
        for turn in turns(f"s{i}", [0.5] * 28, range(1, 29))
    ]
    file = write_events(tmp_path / "a.jsonl", lines)
    command = ["store", "import", str(file), "--store", str(tmp_path / "store.db")]
    process = subprocess.Popen(
        [sys.executable, "-c", FIRST_BATCH, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "staged\n", process.stderr.read()
    process.send_signal(signal_sent)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130, said
    assert "staged; run the same command again to continue" in said
    again = subprocess.run(
        [sys.executable, "-m", "ethogram", *command, "--json"],
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=True,
    )
    done = json.loads(again.stdout)
    assert done["added"] == len(lines)
    assert done["resumed_after"] >= 5000
