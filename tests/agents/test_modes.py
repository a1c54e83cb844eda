"""Runs give the same detections as they happen, across a restart, and in one piece."""

from __future__ import annotations

import json
import random

import pytest

from ethogram import Watch, analyze
from ethogram.config import Settings
from live_cases import last_rows
from run_makers import Script, library
from sampling import seeds

NAMES = (
    "loop",
    "repetitive_errors",
    "infrastructure_trouble",
    "scope_creep",
    "hallucination",
    "resource_spiral",
)


def busy(seed: int) -> list[dict]:
    """Two agents in two runs that loop, fail, wait, read and write by turns."""
    rng = random.Random(seed)
    scripts = [Script(rng, subject=who, thread=run) for who in ("ann", "bo") for run in ("r1", "r2")]
    texts = {path: scripts[0].text() for path in scripts[0].paths(4)}
    for script in scripts:
        for _ in range(rng.randint(10, 25)):
            act = rng.randrange(7)
            path = rng.choice(sorted(texts))
            if act < 3:
                script.read(path, texts[path])
            elif act == 3:
                script.failing(script.shell, {"command": "deploy"}, "Error: no such target")
            elif act == 4:
                script.edit(path, script.word(), script.word())
            elif act == 5:
                script.run("curl https://example.org", "429 Too Many Requests", 1)
            else:
                script.run("cat .env", "x")
    events = [event for script in scripts for event in script.events]
    return sorted(events, key=lambda event: (event["at"], event["id"]))


@pytest.mark.parametrize("seed", seeds(2, 6))
def test_live_with_a_restart_is_as_in_one_piece(seed: int):
    events = busy(seed)
    whole = analyze(events, patterns=library(NAMES)).detections
    watch, told = Watch(library(NAMES)), []
    for n, event in enumerate(events):
        told += watch.observe(event)
        if n == len(events) // 2:
            watch = Watch.load(json.loads(json.dumps(watch.save())), library(NAMES))
            assert not watch.notes
    told += watch.flush()
    assert whole
    assert last_rows([*told, *watch.open()]) == last_rows(whole)


@pytest.mark.parametrize("seed", range(2))
def test_input_larger_than_memory_is_as_in_one_piece(seed: int, tmp_path):
    events = busy(seed)
    file = tmp_path / "run.jsonl"
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    small = analyze(file, patterns=library(NAMES), settings=Settings(memory=1))
    whole = analyze(file, patterns=library(NAMES))
    assert whole.detections
    assert last_rows(small.detections) == last_rows(whole.detections)
