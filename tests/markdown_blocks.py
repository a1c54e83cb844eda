"""The fenced blocks, links and headings of README.md and docs/, and how commands are read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SHELLS = ("bash", "console", "sh", "shell")
_FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_FENCED = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
_STOPPED = re.compile(r"\s+# until Ctrl-C\s*$")
_EXIT = re.compile(r"\s+# exit (\d+)\s*$")
_TITLE = re.compile(r'\btitle="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block; `line` is that of its first line of text."""

    page: Path
    line: int
    info: str
    text: str

    @property
    def language(self) -> str:
        return self.info.split()[0].lower() if self.info.split() else ""

    @property
    def is_skipped(self) -> bool:
        return "{.no-test}" in self.info.split()

    @property
    def file(self) -> str:
        """Where the reader saves the block, written `title="PATH"` after the language; empty if nowhere."""
        titled = _TITLE.search(self.info)
        return titled[1] if titled else ""

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """One line after `$ `, the exit code it promises, and the output shown under it."""

    line: str
    code: int
    output: tuple[str, ...]
    is_server: bool = False
    """Runs until it is stopped, written `# until Ctrl-C`."""


def pages() -> list[Path]:
    """Every page a reader may copy from."""
    return [p for p in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if p.exists()]


def blocks(*languages: str) -> list[Block]:
    """All blocks in these languages (none named: in any), skipped ones left out."""
    return [
        block
        for page in pages()
        for block in blocks_of(page)
        if not block.is_skipped and (not languages or block.language in languages)
    ]


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of one page in order; a fence that never closes is an error."""
    opened: tuple[int, re.Match[str]] | None = None
    inside: list[str] = []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        match = _FENCE.match(line)
        if opened is None:
            if match:
                opened, inside = (number, match), []
        elif match and match["fence"].startswith(opened[1]["fence"]) and not match["info"].strip():
            yield Block(page, opened[0] + 1, opened[1]["info"].strip(), "\n".join(inside) + "\n")
            opened = None
        else:
            inside.append(line.removeprefix(opened[1]["indent"]))
    assert opened is None, f"{page}:{opened[0]}: this fence is never closed"


def prose_of(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def links_of(page: Path) -> list[str]:
    """Targets of the links inside the repository, outside fenced blocks."""
    return _LINK.findall(prose_of(page))


def anchors_of(page: Path) -> set[str]:
    """Headings as GitHub makes anchors of them."""
    headings = _HEADING.findall(prose_of(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_of(text: str) -> list[Command]:
    """The commands of a shell block. A line ending in a backslash goes on in the next."""
    textses: list[tuple[str, list[str]]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            textses.append((command, []))
        elif textses:
            textses[-1][1].append(line)
    return [_command(line, output) for line, output in textses]


def _command(line: str, output: list[str]) -> Command:
    promised = _EXIT.search(line)
    while output and not output[-1].strip():
        output.pop()
    code = int(promised[1]) if promised else 0
    return Command(_EXIT.sub("", _STOPPED.sub("", line)), code, tuple(output), bool(_STOPPED.search(line)))


def is_shown_in(expected: tuple[str, ...], output: str) -> bool:
    """Whether these lines stand in the output, one after the other; `...` stands for any lines."""
    parts = [
        r"(?:[^\n]*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + r"[ \t]*\n"
        for line in expected
    ]
    return re.search("^" + "".join(parts), output.rstrip("\n") + "\n", re.MULTILINE) is not None
