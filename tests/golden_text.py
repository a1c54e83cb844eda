"""Goldens: what the program answered, as text that is the same on every machine, and their comparison.

Values that are large are shortened, with a digest of the whole behind what is shown: a difference shows where
it is, and nothing can change unseen.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shlex
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

DIGITS = 4
"""Significant digits of numbers: the last ones differ between processors."""
STRING_CHARS = 90
FIELD_CHARS = 240
LIST_ITEMS = 2
RECORDS_OF_A_KIND = 4
"""Records of one kind that are shown of one command; the others are counted and in a digest."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
PSEUDONYM = re.compile(r"\b[0-9a-f]{32}\b")
DETECTION_ID = re.compile(r"\b[0-9a-f]{20}\b")
VARIABLES = {"TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "100", "LOGNAME": "kim", "USER": "kim"}


# --- normal form ----------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Eight hexadecimal digits that stand for a value."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def compact(value: Any) -> str:
    """A value of JSON on a line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def rounded(value: Any) -> Any:
    """A value of JSON with its numbers rounded."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return value


def shortened(value: Any) -> Any:
    """A value of JSON in which long texts, lists and fields end with their size and digest."""
    if isinstance(value, str) and len(value) > STRING_CHARS:
        return f"{value[: STRING_CHARS - 10]}... {len(value):,} characters, {digest(value)}"
    if isinstance(value, Mapping):
        short = {key: shortened(item) for key, item in value.items()}
        for key, item in short.items():
            if len(text := compact(item)) > FIELD_CHARS:
                short[key] = f"{text[: FIELD_CHARS // 2]}... {digest(value[key])}"
        return short
    if isinstance(value, list):
        shown = [shortened(item) for item in value[:LIST_ITEMS]]
        rest = [f"... {len(value):,} items, {digest(value)}"] if len(value) > LIST_ITEMS else []
        return shown + rest
    return value


class Normal:
    """Replaces what differs from run to run: folders and URLs, the present, pseudonyms, what `fields` names.

    `is_private`: pseudonyms differ, so that the ids of detections and the order of records do too.
    """

    def __init__(
        self, places: Mapping[str, str], fields: Sequence[str] = (), *, is_private: bool = False
    ) -> None:
        self._places = {place: f"<{name}>" for place, name in places.items()}
        self._fields, self._is_private = frozenset(fields), is_private
        self._begun = datetime.now(UTC).replace(microsecond=0)

    def text(self, text: str) -> str:
        """A text without them."""
        for place, name in self._places.items():
            text = text.replace(place, name)
        if self._is_private:
            text = DETECTION_ID.sub("<id>", PSEUDONYM.sub("<pseudonym>", text))
        return TIME.sub(lambda match: "<now>" if self._is_now(match[0]) else match[0], text)

    def value(self, value: Any) -> Any:
        """A value of JSON without them."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self.text(key): "<varies>" if key in self._fields and item is not None else self.value(item)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value

    def _is_now(self, text: str) -> bool:
        return self._begun <= datetime.fromisoformat(text) <= datetime.now(UTC)

    def records(self, output: str) -> list[str]:
        """JSON lines as lines of a golden; other lines as they are."""
        records = [
            self.value(rounded(json.loads(line))) if line.startswith("{") else self.text(line)
            for line in output.splitlines()
        ]
        if self._is_private:
            records.sort(key=lambda record: json.dumps(record, sort_keys=True))
        kinds: defaultdict[str, list[Any]] = defaultdict(list)
        lines: list[str] = []
        for record in records:
            rows = kinds[record.get("record", "") if isinstance(record, dict) else "text"]
            rows.append(record)
            if len(rows) <= RECORDS_OF_A_KIND:
                lines.append(record if isinstance(record, str) else compact(shortened(record)))
        for kind, rows in kinds.items():
            if len(rows) > RECORDS_OF_A_KIND:
                lines.append(f"... {len(rows):,} of {kind or 'these'}, {digest(rows)}")
        return lines


# --- commands -------------------------------------------------------------------------------


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Work in a folder that is also the home, in UTC, without settings of whoever runs this."""
    homes = {name: str(folder / ".home") for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
    before = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("ETHOGRAM_")]:
        del os.environ[name]
    os.environ |= VARIABLES | homes
    time.tzset()
    try:
        with chdir(folder):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        time.tzset()


def run_command(line: str) -> tuple[int, str, str]:
    """Run `ethogram LINE` in this process: its exit code, and what it wrote to both streams."""
    from ethogram.cli.main import main

    output, errors = StringIO(), StringIO()
    with redirect_stdout(output), redirect_stderr(errors):
        code = main(shlex.split(line))
    return code, output.getvalue(), errors.getvalue()


def answers(lines: Sequence[str], normal: Normal) -> str:
    """What commands answer, as a golden: each line, its exit code if it has one, and its records."""
    parts: list[str] = []
    for line in lines:
        code, output, errors = run_command(line)
        parts.append(f"$ ethogram {normal.text(line)}" + (f"  # exit {code}" if code else ""))
        parts += normal.records(output)
        parts += [f"! {normal.text(error)}" for error in errors.splitlines()]
        parts.append("")
    return "\n".join(parts)


# --- comparison -----------------------------------------------------------------------------


def difference(path: Path, text: str) -> str:
    """How a text differs from the golden in a file; empty where it does not."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    lines = difflib.unified_diff(
        before.splitlines(), text.splitlines(), f"{path.name} (golden)", f"{path.name} (now)", "", "", 0, ""
    )
    return "\n".join(lines)


def renew(path: Path, text: str) -> None:
    """Write a golden, and print how it differs from the one before."""
    sys.stdout.write(f"{difference(path, text) or f'{path.name}: as before'}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
