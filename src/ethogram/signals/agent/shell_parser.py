"""Shell parser: splits a command line into simple commands, to see programs and paths.

Nothing is expanded; sed expressions, search patterns and code are not paths.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...models.lazy_regex import Rule
from ...models.slotted import dataclass
from .step import words

MAX_COMMANDS = 40
MAX_WORDS = 60

_HEREDOC = Rule(r"<<-?\s*(['\"]?)([A-Za-z_]\w{0,40})\1")
_TOKEN = Rule(
    # Leading space and escaped line ends belong to the token after them.
    r"(?:[ \t\r]|\\\r?\n)*(?:(?P<end>&&|\|\||;;|[;\n|&]|\$\(|[()`])"
    # A quote in a comment opens nothing.
    r"|(?P<comment>(?<![^\s;&|()])#[^\n]*)"
    r"|(?P<redirect>\d?>>?(?:&\d)?|&>>?|<(?!<)|<<<)"
    r"|(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\[^\r\n]|[^\s'\"\\;&|<>()`]++)+)|(?P<other>.))",
    re.DOTALL,
)
_ASSIGNMENT = Rule(r"[A-Za-z_]\w{0,60}=")
PREFIXES = words("sudo time nohup env command exec then do else if while ! timeout")
_EXPRESSION = Rule(r"[sy]/.*/.*/[gimpe]*$")
_NUMERIC = Rule(r"[\d.,:%+-]+")
_PATH = Rule(r"[\w.~@+,=:%-]*(?:/[\w.~@+,=:%-]*)+|[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}|\.[A-Za-z][\w.-]*")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program with its words, and the files its output goes to. `code` is a here-document."""

    program: str
    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    code: str = ""


@lru_cache(maxsize=256)
def simple_commands(line: str) -> tuple[SimpleCommand, ...]:
    """Return the simple commands of a line, in order; the first forty of a longer one.

    >>> for command in simple_commands("cd a && sed -i 's/x/y/' b > out.txt"):
    ...     print(command.program, command.words, command.outputs)
    cd ('a',) ()
    sed ('-i', 's/x/y/', 'b') ('out.txt',)
    """
    line, code = _without_heredocs(line)
    commands: list[SimpleCommand] = []
    parts: list[str] = []
    outputs: list[str] = []
    redirect = ""
    for token in _TOKEN.finditer(line):
        kind = token.lastgroup
        if kind == "word":
            if redirect:
                if ">" in redirect:
                    outputs.append(unquote(token["word"]))
                redirect = ""
            elif len(parts) < MAX_WORDS:
                parts.append(token["word"])
        elif kind == "end":
            _close(commands, parts, outputs, code)
            parts, outputs, redirect = [], [], ""
            if len(commands) >= MAX_COMMANDS:
                break
        elif kind == "redirect":
            text = token["redirect"]
            redirect = "" if "&" in text and text[-1].isdigit() else text
    _close(commands, parts, outputs, code)
    return tuple(commands[:MAX_COMMANDS])


def unquote(word: str) -> str:
    """Return a word without its quotes.

    >>> unquote("'a b'.txt")
    'a b.txt'
    """
    return word.replace("'", "").replace('"', "")


def looks_like_path(word: str) -> bool:
    """Return whether a word is plainly a path.

    >>> [looks_like_path(w) for w in ("src/a.py", ".env", "s/a/b/g", "http://x.org/a", "-n", "1.5", "a*")]
    [True, True, False, False, False, False, False]
    """
    if len(word) > 300 or word.startswith("-") or "://" in word or not _PATH.fullmatch(word):
        return False
    return not (_EXPRESSION.match(word) or _NUMERIC.fullmatch(word))


def _close(commands: list[SimpleCommand], parts: list[str], outputs: list[str], code: str) -> None:
    place = 0
    while place < len(parts) and (
        parts[place] in PREFIXES
        or ("=" in parts[place] and _ASSIGNMENT.match(parts[place]))
        or (place and parts[place - 1] == "timeout" and parts[place][:1].isdigit())
    ):
        place += 1
    if place < len(parts) or outputs:
        program = unquote(parts[place]).rpartition("/")[2] if place < len(parts) else ""
        commands.append(SimpleCommand(program, tuple(map(unquote, parts[place + 1 :])), tuple(outputs), code))


def _without_heredocs(line: str) -> tuple[str, str]:
    """The line without its here-documents, and the text of the first."""
    code = ""
    if "<<" not in line:
        return line, code
    for _ in range(8):
        opened = _HEREDOC.search(line)
        if opened is None:
            break
        start = line.find("\n", opened.end())
        if start < 0:
            return line[: opened.start()] + line[opened.end() :], code
        closed = re.compile(rf"^\s*{opened.group(2)}\s*$", re.MULTILINE).search(line, start + 1)
        end = closed.start() if closed else len(line)
        code = code or line[start + 1 : end]
        rest = line[closed.end() :] if closed else ""
        line = f"{line[: opened.start()]}{line[opened.end() : start]}\n{rest}"
    return line, code
