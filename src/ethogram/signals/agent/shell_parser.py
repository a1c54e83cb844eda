"""Shell: the simple commands in a command line, told apart well enough to see programs and paths.

Nothing is expanded. What cannot be told is left out: a sed expression, a pattern to search for or a piece
of code is no path.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ...models.lazy_regex import Rule
from ...models.slotted import dataclass

MOST_COMMANDS = 40
MOST_WORDS = 60

_HEREDOC = Rule(r"<<-?\s*(['\"]?)([A-Za-z_]\w{0,40})\1")
_TOKEN = Rule(
    # Space before a token goes with it, and so does a line's end that is escaped; what is left of it at the
    # end is one of the others.
    r"(?:[ \t\r]|\\\r?\n)*(?:(?P<end>&&|\|\||;;|[;\n|&]|\$\(|[()`])"
    # A quote in a comment opens nothing.
    r"|(?P<comment>(?<![^\s;&|()])#[^\n]*)"
    r"|(?P<redirect>\d?>>?(?:&\d)?|&>>?|<(?!<)|<<<)"
    r"|(?P<word>(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\[^\r\n]|[^\s'\"\\;&|<>()`]++)+)|(?P<other>.))",
    re.DOTALL,
)
_ASSIGNMENT = Rule(r"[A-Za-z_]\w{0,60}=")
PREFIXES = frozenset(
    ("sudo", "time", "nohup", "env", "command", "exec", "then", "do", "else", "if", "while", "!", "timeout")
)
_EXPRESSION = Rule(r"[sy]/.*/.*/[gimpe]*$")
_FIGURES = Rule(r"[\d.,:%+-]+")
_PATH = Rule(r"[\w.~@+,=:%-]*(?:/[\w.~@+,=:%-]*)+|[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,9}|\.[A-Za-z][\w.-]*")


@dataclass(frozen=True, slots=True)
class Simple:
    """One program with its words, and the files its output goes to. `code` is the text handed to it."""

    program: str
    words: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    code: str = ""


@lru_cache(maxsize=256)
def simple_commands(line: str) -> tuple[Simple, ...]:
    """The simple commands in a line, in order; of a hostile one the first forty.

    >>> for one in simple_commands("cd a && sed -i 's/x/y/' b > out.txt"):
    ...     print(one.program, one.words, one.outputs)
    cd ('a',) ()
    sed ('-i', 's/x/y/', 'b') ('out.txt',)
    """
    line, code = _without_heredocs(line)
    simples: list[Simple] = []
    words: list[str] = []
    outputs: list[str] = []
    redirect = ""
    for token in _TOKEN.finditer(line):
        kind = token.lastgroup
        if kind is None or kind in ("other", "comment"):
            continue
        said = token[kind]
        if kind == "end":
            _close(simples, words, outputs, code)
            words, outputs, redirect = [], [], ""
            if len(simples) >= MOST_COMMANDS:
                break
        elif kind == "redirect":
            redirect = "" if "&" in said and said[-1].isdigit() else said
        elif kind == "word":
            if redirect:
                if ">" in redirect:
                    outputs.append(unquoted(said))
                redirect = ""
            elif len(words) < MOST_WORDS:
                words.append(said)
    _close(simples, words, outputs, code)
    return tuple(simples[:MOST_COMMANDS])


def unquoted(word: str) -> str:
    """A word without its quotes.

    >>> unquoted("'a b'.txt")
    'a b.txt'
    """
    return word.replace("'", "").replace('"', "")


def looks_like_path(word: str) -> bool:
    """Whether a word can hardly be anything but a path.

    >>> [looks_like_path(one) for one in ("src/a.py", ".env", "s/a/b/g", "http://x.org/a", "-n", "1.5", "a*")]
    [True, True, False, False, False, False, False]
    """
    if len(word) > 300 or word.startswith("-") or "://" in word or not _PATH.fullmatch(word):
        return False
    return not (_EXPRESSION.match(word) or _FIGURES.fullmatch(word))


def _close(simples: list[Simple], words: list[str], outputs: list[str], code: str) -> None:
    place = 0
    while place < len(words) and (
        words[place] in PREFIXES
        or ("=" in words[place] and _ASSIGNMENT.match(words[place]))
        or (place and words[place - 1] == "timeout" and words[place][:1].isdigit())
    ):
        place += 1
    if place < len(words):
        program = unquoted(words[place]).rpartition("/")[2]
        simples.append(Simple(program, tuple(map(unquoted, words[place + 1 :])), tuple(outputs), code))
    elif outputs:
        simples.append(Simple("", (), tuple(outputs), code))


def _without_heredocs(line: str) -> tuple[str, str]:
    """The line without the texts it hands to programs, and the first such text."""
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
