"""Telling: the line of a text that says what went wrong, as a person would quote it."""

from __future__ import annotations

import re

from ...records.rule import Rule
from .volatile import without_colour

LEAST = 20
"""Characters of a line that says something, where nothing else does."""
SOME_LINES = 20
"""Lines that are looked at, at either end."""
SOON = 6
"""Lines after a general sentence in which its particulars are looked for."""
LONGEST_CODE = 40
"""Characters of a bare code that is told together with the line."""

EXCEPTION = Rule(
    r"^[ \t>|]*([A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Interrupt|Exit|Failure|NotFound)\b.*)$", re.M
)
_WARNING = Rule(r"[\w.]{0,90}Warning\b")
_ERROR_LINE = Rule(
    r"^[ \t>|#*\[]{0,8}(?:[\w./\\ -]{0,120}[: ] ?)?(?:fatal|error|panic|failed|failure|invalid|cannot"
    r"|can't|unable)\b.{0,300}$"
    r"|^.{0,200}(?:command not found|No such file or directory|Permission denied|not recognized as"
    r"|No match(?:es)? (?:was |were )?found"
    r"|does not exist|did not appear|not found|is not defined|Is a directory|Not a directory)\b.{0,120}$",
    re.I | re.M,
)
# As compilers and linters write it: `error TS2304: ...`, `a.py:3:1: F821 ...`, `- E999 ...`.
_WITH_CODE = Rule(
    r"[ \t>*\u2022-]{0,8}(?:(?:[A-Za-z]:)?[\w./\\@+-]{1,200}(?:\(\d+,\d+\)|(?::\d+){1,2})?: )?"
    r"(?:(?:fatal )?[Ee]rror:? ?\[?[A-Z]{1,4}\d{3,5}\b|[BCDEFNRW]\d{3,4} \w)"
)
_HEADING = Rule(r"\W{0,4}(?:the following )?(?:\w{1,20} )?errors?\s?:\W{0,3}", re.I)
_IN_LIST = Rule(r"\s*[-*\u2022] \S")
NOISE = Rule(
    r"^(?:\W*|\d+ (?:errors?|warnings?)\W*|exit code:? \d+|\[?process .{0,40}"
    r"|\W*(?:the following )?(?:errors?|fatal|failures?|failed|exceptions?|stderr|output)\W*"
    r"|make(?:\[\d+\])?: .{0,120}|npm (?:ERR!|error).{0,20})$",
    re.I,
)
# Only what is known to wrap an error: a usage such as `edit <start_line>` is told as it stands, and so is
# a path or a quoted name at the start.
_LABEL = Rule(
    r"^(?:(?:exit code:?|returncode:?)\s*\d+\s*)"
    r"|</?(?:tool_use_error|error|stderr|stdout|output|returncode|system)>"
    r"|^(?:[^\w/~.<\[('\"`{$-]|-+(?=\s))+",
    re.I,
)
EXIT = Rule(r"(?:process )?(?:exit(?:ed)?|returncode)(?: with)?(?: code| status)?:? ?\d{1,5}\.?", re.I)


def telling_line(text: str, *, first: bool = False) -> str:
    """The exception of a traceback, else the first line that speaks of an error, else the last (`first`: the
    first) that says anything.

    Of a general sentence with particulars below it, the first of those.

    >>> telling_line("New syntax error(s) were found.\\n\\nERRORS:\\n- E999 SyntaxError: invalid syntax")
    'E999 SyntaxError: invalid syntax'
    """
    text = without_colour(text)
    if len(text) > 8_000:
        text = f"{text[:4_000]}\n{text[-4_000:]}"
    if "Traceback (most recent" in text and (raised := EXCEPTION.findall(text)):
        return _bare(str(raised[-1]))
    lines = text.splitlines()
    if len(lines) > 2 * SOME_LINES:
        lines = lines[:SOME_LINES] + lines[-SOME_LINES:]
    if (found := _speaking(lines)) is not None:
        return _bare(found)
    # Where there is nothing but noise, the last of it that says more than a number.
    said = [line for line in lines if not _is_noise(line)]
    said = said or [line for line in lines if len(line.strip()) > LEAST][-1:]
    return _bare(said[0 if first else -1]) if said else ""


def told_line(error: str, result: str) -> str:
    """The telling line of an error that the source told, beside the result it belongs to.

    A source may tell no more than a code, or the first line of a longer message: the result says the rest.

    >>> told_line("format_error", "Give exactly one action."), told_line("exit 1", "done\\nx: not found")
    ('format_error: Give exactly one action.', 'x: not found')
    """
    code, said = error.strip(), result.strip()
    if not said:
        return telling_line(error)
    is_exit = EXIT.fullmatch(code) is not None
    if is_exit or not any(one.isspace() for one in code):
        line = telling_line(said, first=not is_exit)
        if is_exit or not line or len(code) > LONGEST_CODE or code in line or _is_noise(code):
            return line or code
        return f"{code}: {line}"
    if "\n" not in code and not EXCEPTION.match(code) and (place := said.find(code)) >= 0:
        below = said[place + len(code) : place + len(code) + 4_000].splitlines()[1 : SOON + 1]
        if not _WITH_CODE.match(code) and (listed := _listed(below)) is not None:
            return _bare(listed)
    return telling_line(error) or telling_line(said)


def _speaking(lines: list[str]) -> str | None:
    """The first line that speaks of an error, or what is listed below it; else the first warning."""
    warning = None
    for place, line in enumerate(lines):
        if _is_noise(line):
            continue
        start = line[:400]
        if (raised := EXCEPTION.match(start)) is not None and _WARNING.match(raised[1]):
            warning = warning or line
        elif raised is not None or _WITH_CODE.match(start):
            return line
        elif _ERROR_LINE.match(start):
            return _listed(lines[place + 1 : place + 1 + SOON]) or line
    return warning


def _listed(lines: list[str]) -> str | None:
    """The first of these lines with an error's code, or that is first in a list of errors."""
    for place, line in enumerate(lines):
        if _WITH_CODE.match(line[:400]):
            return line
        if _HEADING.fullmatch(line.strip()[:80]):
            after = next((one for one in lines[place + 1 :] if one.strip()), "")
            if _IN_LIST.match(after) or EXCEPTION.match(after[:400]):
                return after
    return None


def _is_noise(line: str) -> bool:
    return NOISE.match(line.strip()[:400]) is not None


def _bare(line: str) -> str:
    return _LABEL.sub("", line.strip()[:1_000]).strip()[:600]
