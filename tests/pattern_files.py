"""Small pattern files for tests: a complete pattern, and whatever a test says instead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ethogram.language.vocabulary import Vocabulary
from ethogram.language.yaml_source import read_yaml
from ethogram.patterns.pattern_file import PatternFile, check_pattern

CALM_THEN_LOUD: dict[str, Any] = {
    "name": "outburst",
    "title": "Calm, then loud",
    "description": "A calm event, then a loud one.",
    "shape": {
        "sequence": [{"calm": "noise < 0.3"}, {"loud": "noise > calm.noise + 0.5"}],
        "within": "3 events",
    },
    "confidence": "loud.noise",
    "severity": "low",
    "explanation": "{subject} rose to {loud.noise:.1f}.",
    "examples": {
        "fires": [{"story": "calm, then loud", "noise": [0.1, 0.9], "at": 2}],
        "quiet": [
            {"story": "loud all along", "noise": [0.9, 0.9]},
            {"story": "calm all along", "noise": [0.1, 0.1]},
        ],
    },
}

BUSY: dict[str, Any] = {
    "name": "busy",
    "title": "Much at once",
    "description": "Three of four events are loud.",
    "shape": {"threshold": {"when": "count(noise > 0.5, last=4, at_least=3) >= 3"}},
    "confidence": 0.5,
    "severity": {"low": "noise > 0", "high": "noise > 0.8"},
    "examples": {
        "fires": [{"story": "three loud ones", "noise": [0.6, 0.6, 0.6, 0.6], "at": 3, "severity": "low"}],
        "quiet": [
            {"story": "two loud ones", "noise": [0.6, 0.1, 0.6]},
            {"story": "none", "noise": [0.1, 0.1, 0.1]},
        ],
    },
}


def write(folder: Path, pattern: dict[str, Any] = CALM_THEN_LOUD, **changes: Any) -> Path:
    """The file of a pattern with these fields changed; None leaves one out. JSON is YAML too."""
    content = {key: value for key, value in (pattern | changes).items() if value is not None}
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{content['name']}.yaml"
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return path


def examples(pattern: dict[str, Any] = CALM_THEN_LOUD, **groups: list[dict[str, Any]]) -> dict[str, Any]:
    """The pattern's examples with `fires` or `quiet` replaced; quiet ones are made up to two."""
    found = pattern["examples"] | groups
    quiet = found["quiet"] if len(found["quiet"]) > 1 else [*found["quiet"], *pattern["examples"]["quiet"]]
    return {"fires": found["fires"], "quiet": quiet}


def read_pattern_text(text: str, vocabulary: Vocabulary, path: str = "pattern") -> PatternFile:
    """The pattern of a text, or BadPattern with every fault in it."""
    return check_pattern(read_yaml(text, path), path, vocabulary)
