"""Values of runs: arguments, paths, commands, texts and token counts, as the many formats write them."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .documents import dict_of, list_of, one_of
from .errors import BadLine

DEEPEST = 8
ENDINGS = (".gz", ".jsonl", ".ndjson", ".json", ".trajectory", ".traj", ".eval")
_GENERAL = re.compile(
    r"(?i)(\d+|trajector(y|ies)|messages?|logs?|events?|outputs?|runs?|traces?|spans?|sessions?|conversations?"
    r"|data|history|results?|transcript|chat|response)([.\-_]?\d+)?"
)


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


def cut(text: str, most: int) -> str:
    """The text, without what is over the limit."""
    return text if len(text) <= most else text[:most]


def plain(value: Any) -> str | None:
    """A name or number as text; None for anything else and for an empty one."""
    if isinstance(value, str):
        return value.strip() or None
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None


def fit(arguments: Any, most: int) -> dict[str, Any]:
    """Arguments as an object, whether they came as one or as JSON text; long texts and deep parts cut.

    >>> fit('{"a": 1}', 10), fit("ls -l " * 9, 5), fit(None, 5)
    ({'a': 1}, {'input': 'ls -l'}, {})
    """
    told = arguments
    if isinstance(told, str):
        try:
            told = one_of(told) if told.strip() else {}
        except BadLine:
            told = arguments
    if told is None:
        return {}
    small = _fit(told, most, DEEPEST)
    return small if isinstance(small, dict) else {"input": small}


def _fit(value: Any, most: int, deeper: int) -> Any:
    if isinstance(value, str):
        return cut(value, most)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 1e300:
        return None
    if isinstance(value, dict | list) and deeper < 1:
        return cut(json.dumps(value), most)
    if isinstance(value, dict):
        return {cut(key, most): _fit(one, most, deeper - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_fit(one, most, deeper - 1) for one in value]
    return value


def text_of(content: Any) -> str:
    """The text of a message's content: plain, or in parts of which those that are no text are named.

    >>> text_of([{"type": "text", "text": "a"}, {"type": "image"}, "b"])
    'a\\n[image]\\nb'
    """
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _part(content)
    if content is None:
        return ""
    if not isinstance(content, list):
        return json.dumps(content)
    return "\n".join(said for one in content if (said := _part(one)))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    told = dict_of(part)
    for key in ("text", "content", "output", "output_text", "input_text", "refusal"):
        if isinstance(one := told.get(key), str):
            return one
        if isinstance(one, list):
            return text_of(one)
    return f"[{told['type']}]" if isinstance(told.get("type"), str) else json.dumps(part) if part else ""


def usage_of(usage: Any, **others: Any) -> dict[str, Any]:
    """Tokens in, out and in all. What a provider read from its cache counts as read.

    >>> usage_of({"input_tokens": 3, "cache_read_input_tokens": 10, "output_tokens": 2})
    {'input_tokens': 13, 'output_tokens': 2, 'tokens': 15}
    """
    told = dict_of(usage)
    out = number(told, "output_tokens", "completion_tokens")
    total = number(told, "total_tokens")
    into = number(told, "input_tokens", "prompt_tokens")
    if total is not None and out is not None and into is not None:
        into = max(into, total - out)
    elif into is not None:
        cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
        into += sum(number(told, key) or 0 for key in cached) if "prompt_tokens" not in told else 0
    if total is None and (into is not None or out is not None):
        total = (into or 0) + (out or 0)
    found = {"input_tokens": into, "output_tokens": out, "tokens": total, **others}
    return {key: value for key, value in found.items() if value is not None}


def number(told: Mapping[str, Any], *keys: str) -> Any:
    """The first of some keys that holds a number, also as text; None where none does."""
    for key in keys:
        value = told.get(key)
        if isinstance(value, str) and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", value):
            value = float(value) if "." in value else int(value)
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
            return value
    return None


def seconds(value: Any) -> float | None:
    """A duration in seconds: a number, or ISO 8601 such as PT1M29.8S.

    >>> seconds("PT1M29.5S"), seconds(2), seconds("soon")
    (89.5, 2, None)
    """
    if isinstance(value, str):
        found = re.fullmatch(r"PT(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,9})?)S)?", value)
        if found is None:
            return None
        hours, minutes, rest = (float(one or 0) for one in found.groups())
        return round(3600 * hours + 60 * minutes + rest, 9)
    found_number: float | None = number({"value": value}, "value")
    return found_number


def run_name(name: str) -> str:
    """The name of a run by its file: with that of the folder where the file's own says too little.

    >>> run_name("/data/django-11099.traj.json"), run_name("runs/r7/trajectory.json"), run_name("-")
    ('django-11099', 'r7/trajectory', 'stdin')
    """
    if name == "-":
        return "stdin"
    stem, cut_more = Path(name).name, True
    while cut_more:
        shorter = next((stem[: -len(end)] for end in ENDINGS if stem.lower().endswith(end)), stem)
        cut_more = shorter not in (stem, "")
        stem = shorter or stem
    folder = folder_of(name)
    return f"{folder}/{stem}" if folder and _GENERAL.fullmatch(stem) else stem


def folder_of(name: str, above: int = 0) -> str:
    """The name of the folder a file is in, or of one above it; '' at the top."""
    parents = Path(os.path.abspath(name)).parents  # noqa: PTH100 (nothing is looked up on disk)
    return parents[above].name if above < len(parents) else ""


def texts(blocks: Any, kind: str, key: str) -> str:
    """The texts under a key of those parts of a message that are of one type, joined."""
    found = (one.get(key) for one in list_of(blocks) if isinstance(one, dict) and one.get("type") == kind)
    return "\n".join(one for one in found if isinstance(one, str) and one)
