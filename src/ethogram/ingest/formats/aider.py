"""aider: its chat history in Markdown; edits are calls, and what aider says about them their results."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import BadLine
from ..format import Input, Record, adapter
from ..streams import BOM, decode, lines
from ..transcript import ToolCall, Transcript, TranscriptAdapter, run_name

START = "# aider chat started at "
OWN = re.compile(r">(?: |$)")
"""aider's own lines; the end of an edit, `>>>>>>> REPLACE`, is the model's."""
_SEARCH, _REPLACE = re.compile(r"<{5,9} SEARCH"), re.compile(r">{5,9} REPLACE")
_FENCE = ("```", "<source>", "</source>")
_APPLIED = re.compile(r"Applied edit to (.+)")
_FAILED = re.compile(r"(?:SEARCH block failed to exactly match lines in|No exact match in) (.+)")
_REJECTED = re.compile(r"did not conform to the edit format|blocks? failed to match", re.IGNORECASE)
_COUNT = r"(?<![\d.])(\d[\d,]{0,14}(?:\.\d{1,9})?)(k?)"
_TOKENS = re.compile(
    rf"(?:Tokens: )?{_COUNT} (?:prompt tokens|sent),.*?{_COUNT} (?:completion tokens|received)"
)
_COST = re.compile(r"\$(\d{1,12}(?:\.\d{1,12})?) (?:cost|message)")


@adapter("aider")
class Aider(TranscriptAdapter):
    """Text that begins with `# aider chat started at`; each start is a run."""

    suffixes = (".aider.chat.history.md",)

    def recognises(self, head: bytes, name: str) -> bool:
        return head.removeprefix(BOM).lstrip().startswith(START.encode())

    def read(self, file: Input) -> Iterator[Record]:
        run: Chat | None = None
        count = 0
        for number, raw in lines(file.stream, file.limits):
            try:
                line = raw if isinstance(raw, str) else decode(raw)
            except BadLine as bad:
                yield number, bad.message, bad.column
                continue
            line = line.rstrip("\r\n")
            if line.startswith(START):
                if run is not None:
                    run.close()
                    yield from run.records()
                count += 1
                name = run_name(file.name.removesuffix(".md"))
                run = Chat(name if count == 1 else f"{name}/{count}", file)
                run.set_metadata(started=line.removeprefix(START).strip() or None)
            elif run is not None:
                run.add_line(number, line)
        if run is not None:
            run.close()
            yield from run.records()


class Chat(Transcript):
    """One chat: blocks of a person's lines (`####`), of aider's own (`>`) and of the model's."""

    def __init__(self, thread: str, file: Input) -> None:
        super().__init__(thread, file)
        self._kind = ""
        self._lines: list[str] = []
        self._starts = 1
        self._edits: list[tuple[str, str]] = []
        self._usage: dict[str, Any] = {}

    def add_line(self, number: int, line: str) -> None:
        """Add one line; a block ends where another kind begins."""
        kind = "user" if line.startswith("####") else "aider" if OWN.match(line) else "assistant"
        if kind != self._kind and (line.strip() or self._kind != "assistant"):
            self.close()
            self._kind, self._starts = kind, number
        self._lines.append(line)

    def close(self) -> None:
        """End the current block."""
        block, self._lines = self._lines, []
        self.line = self._starts
        if self._kind == "user":
            self.message("user", "\n".join(line.removeprefix("####").strip() for line in block))
        elif self._kind == "aider":
            self._add_report([line[1:].strip() for line in block])
        elif text := "\n".join(block).strip():
            self._edits = list(edits_in(block))
            calls = [
                ToolCall("edit", {"path": path, "content": body}, f"{self.thread}/{len(self.events)}-{n}")
                for n, (path, body) in enumerate(self._edits)
            ]
            self.turn(text, calls, usage=self._usage)
            self._usage = {}
        self._kind = ""

    def _add_report(self, report: list[str]) -> None:
        """What aider says after an answer: tokens, edits that were applied, those that were not."""
        text = "\n".join(report)
        for line in report:
            if tokens := _TOKENS.match(line):
                used = [float(tokens[n].replace(",", "")) * (1000 if tokens[n + 1] else 1) for n in (1, 3)]
                cost = _COST.search(line)
                self._usage = {
                    "input_tokens": round(used[0]),
                    "output_tokens": round(used[1]),
                    "tokens": round(sum(used)),
                    **({"cost": float(cost[1])} if cost else {}),
                }
        applied = {match[1].strip() for match in _APPLIED.finditer(text)}
        failed = {match[1].strip() for match in _FAILED.finditer(text)}
        if not self._edits or not (applied or failed or _REJECTED.search(text)):
            return
        for path, _ in self._edits:
            if path in applied and path not in failed:
                self.result(f"Applied edit to {path}", tool="edit")
            else:
                failed_line = next((line for line in report if path in line and _FAILED.search(line)), None)
                rejected = next((line for line in report if _REJECTED.search(line)), "not applied")
                self.result((failed_line or rejected).lstrip("# "), tool="edit", error=True)
        self._edits = []


def edits_in(block: list[str]) -> Iterator[tuple[str, str]]:
    """Yield path and content of each edit in an answer; the path stands on the line before it.

    >>> list(edits_in(["a.py", "```", "<<<<<<< SEARCH", "x", "=======", "y", ">>>>>>> REPLACE", "```"]))
    [('a.py', 'x\\n=======\\ny')]
    """
    path, body = "", None
    for line in block:
        if _SEARCH.match(line):
            body = list[str]()
        elif body is not None and _REPLACE.match(line):
            yield path, "\n".join(body)
            body = None
        elif body is not None:
            body.append(line)
        elif line.strip() and not line.startswith(_FENCE):
            path = line.strip()[:300]
