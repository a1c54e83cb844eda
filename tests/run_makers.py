"""Runs of agents made up for tests: the same conduct with other tools, words, paths and ways of telling."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from ethogram import analyze
from ethogram.patterns.library import Library, load_patterns

WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "inlet",
    "jetty",
    "kelp",
    "lagoon",
    "maple",
    "nimbus",
    "orchid",
    "pebble",
]
SEVERITIES = ("low", "medium", "high", "critical")


class Script:
    """Events of one run, told step by step; `style` is how outcomes are told."""

    def __init__(
        self, rng: random.Random, subject: str = "agent", thread: str = "r1", style: str = ""
    ) -> None:
        self.rng, self.subject, self.thread = rng, subject, thread
        self.style = style or rng.choice(["result", "result", "inline", "no id"])
        self.events: list[dict[str, Any]] = []
        self.at = datetime(2026, 5, 1, 9, tzinfo=UTC)
        self.shell = rng.choice(["bash", "execute_bash", "run_command", "terminal"])

    def event(self, kind: str, attributes: dict[str, Any], **fields: Any) -> None:
        self.at += timedelta(seconds=self.rng.randint(1, 20))
        self.events.append(
            {
                "id": f"{self.thread}/{self.subject}/{len(self.events)}",
                "at": self.at.isoformat(),
                "subject": self.subject,
                "thread": self.thread,
                "kind": kind,
                "attributes": attributes,
                **fields,
            }
        )

    def step(self, tool: str, arguments: dict[str, Any], result: str = "", **outcome: Any) -> None:
        """A call and what came of it."""
        thought = {"thought": " ".join(self.rng.sample(WORDS, 6))} if self.rng.random() < 0.7 else {}
        facts = {key: arguments[key] for key in ("command", "path") if isinstance(arguments.get(key), str)}
        if facts.get("command") in ("view", "str_replace", "create", "insert"):
            del facts["command"]
        call = {"tool": tool, "arguments": arguments, **facts, **thought}
        if self.style == "inline":
            self.event("action", {**call, "result": result, **outcome})
            return
        call_id = {} if self.style == "no id" else {"call_id": f"c{len(self.events)}"}
        self.event("action", {**call, **call_id})
        self.event("result", {"tool": tool, **facts, **call_id, "result": result, **outcome})

    def run(self, command: str, result: str = "", code: int = 0) -> None:
        self.step(self.shell, {"command": command}, result, exit_code=code)

    def failing(self, tool: str, arguments: dict[str, Any], error: str) -> None:
        """A step that fails, told in one of three ways."""
        way = self.rng.choice(["text", "flag", "code"]) if not hasattr(self, "way") else self.way
        self.way = way
        if way == "text":
            self.step(tool, arguments, error, error=error)
        elif way == "flag":
            self.step(tool, arguments, error, error=True)
        else:
            self.step(tool, arguments, error, exit_code=1)

    def read(self, path: str, text: str) -> None:
        how = self.reader
        if how == "cat":
            self.run(f"cat {path}", text)
        elif how == "view":
            self.step("str_replace_editor", {"command": "view", "path": path}, text)
        else:
            self.step(how, {"path": path}, text)

    @property
    def reader(self) -> str:
        if not hasattr(self, "_reader"):
            self._reader = self.rng.choice(["cat", "view", "Read", "read_file", "open_file"])
        return self._reader

    def edit(self, path: str, old: str, new: str, result: str | None = None) -> None:
        if not hasattr(self, "_editor"):
            self._editor = self.rng.choice(["str_replace_editor", "Edit", "edit_file", "apply_patch", "sed"])
        told = f"The file {path} has been updated." if result is None else result
        if self._editor == "sed":
            self.run(f"sed -i 's/{old}/{new}/' {path}", "" if result is None else result)
        elif self._editor == "apply_patch":
            self.step("apply_patch", {"patch": f"--- {path}\n-{old}\n+{new}\n"}, told)
        elif self._editor == "str_replace_editor":
            arguments = {"command": "str_replace", "path": path, "old_str": old, "new_str": new}
            self.step("str_replace_editor", arguments, told)
        else:
            self.step(self._editor, {"path": path, "old_string": old, "new_string": new}, told)

    def say(self, text: str) -> None:
        self.event("message", {"role": "assistant"}, text=text)

    def condense(self) -> None:
        self.event("condensation", {}, text="Summary of what went before.")

    # --- parts that vary -------------------------------------------------------------------

    def path(self) -> str:
        folder = self.rng.choice(["src", "lib", "app", "pkg/core", "server/api"])
        return f"{folder}/{self.word()}.{self.rng.choice(['py', 'ts', 'go', 'java', 'rs'])}"

    def paths(self, count: int) -> list[str]:
        texts: set[str] = set()
        while len(texts) < count:
            texts.add(self.path())
        return sorted(texts)

    def word(self) -> str:
        return self.rng.choice(WORDS)

    def text(self) -> str:
        return "\n".join(" ".join(self.rng.sample(WORDS, 5)) for _ in range(self.rng.randint(2, 6)))


@lru_cache(maxsize=16)
def library(patterns: tuple[str, ...]) -> Library:
    return load_patterns(list(patterns) or None)


def detections(events: list[dict[str, Any]], *patterns: str) -> list[Any]:
    """What is found with the patterns that are on by default, or with these."""
    return list(analyze(events, patterns=library(patterns)).detections)


def fired(events: list[dict[str, Any]], *patterns: str) -> dict[str, str]:
    """The highest severity of each pattern that fired."""
    record: dict[str, str] = {}
    for detection in detections(events, *patterns):
        before = record.get(detection.pattern)
        if before is None or SEVERITIES.index(detection.severity) > SEVERITIES.index(before):
            record[detection.pattern] = detection.severity
    return record
