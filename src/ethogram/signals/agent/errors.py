"""Errors: the line of an outcome that states the failure."""

from __future__ import annotations

import re
from itertools import pairwise

from ...models.lazy_regex import Rule
from .normalization import QUOTED, cleaned, has_sign, without_colour
from .operations import is_shell
from .step import Step

# Telling: the line of a text that says what went wrong, as a person would quote it.

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
    if (result := _speaking(lines)) is not None:
        return _bare(result)
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
    if is_exit or not any(item.isspace() for item in code):
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
            after = next((line for line in lines[place + 1 :] if line.strip()), "")
            if _IN_LIST.match(after) or EXCEPTION.match(after[:400]):
                return after
    return None


def _is_noise(line: str) -> bool:
    return NOISE.match(line.strip()[:400]) is not None


def _bare(line: str) -> str:
    return _LABEL.sub("", line.strip()[:1_000]).strip()[:600]


# Failure: the line of an outcome that says what went wrong, and whether the agent could help it.

MOST = 200
"""Characters of an error that count."""
CONTENT_LINES = 3
"""Lines with numbers that follow one another, from which on they are a file's; names that are a listing."""
HEAD_LINES = 6
"""Lines at the start of an editor's answer that can be a report of what came of it."""
NOTHING_FOUND = (1, 123)
"""Exit codes of searches that found nothing."""
SHORT = 1_500
"""What is read from a file may speak of errors; only so short a result can be an error message itself."""

_SAYS_SO = Rule(
    r"^\W{0,4}(?:[\w .'-]{0,60}(?:returned|result|output|response)\W{1,3})?(?:error\b|fatal:"
    r"|exception\b|traceback|<tool_use_error>"
    r"|usage:|bash: |sh: |[\w./-]{1,60}: (?:command not found|cannot |can't |No such file|line \d))",
    re.I,
)
_DONE = Rule(r"\b(?:updated|edited|created|written|wrote|saved|replaced|inserted|applied|success\w*)\b", re.I)
_BROKEN = Rule(
    r"^BUILD FAIL(?:ED|URE)\b|\bcompilation (?:failed|error)\b|\bsyntax error\(?s?\)? (?:was|were|in)\b",
    re.M | re.I,
)
_FAILING = Rule(r"\b[1-9]\d{0,5} (?:failing|failed|failures?)\b|\b(?:failures|errors)[=:] ?[1-9]", re.I)
# Of an editor that runs the tests on what it wrote: a line that is nothing else.
_REPORT = Rule(
    r"^(?:BUILD FAIL(?:ED|URE)\b|(?:There (?:is|are|were) )?[1-9]\d{0,5} (?:failing|failed|failures?)\b)",
    re.M,
)
NOT_ITS_OWN = Rule(
    r"sibling tool call|(?:cancelled|canceled|rejected|interrupted) by (?:the )?user|user (?:doesn't"
    r"|does not) want",
    re.I,
)
_JSON_ERROR = Rule(
    r'"(?:error|is_error|isError)"\s*:\s*(?:true|"[^"]{1,300}|\{)|"(?:success|ok)"\s*:\s*false', re.I
)
_NOTHING = Rule(
    r"\bno (?!such\b)(?:\w+ ){0,3}(?:match(?:es|ed|ing)?|files?|results?|hits?|occurrences?|references?)\b"
    r"|\b(?:nothing|none) (?:was |were )?(?:found|matched)\b|\b0 (?:match|result|hit|file|occurrence)"
    r"|\b(?:pattern|string|text|query|term)\b.{0,120}\bnot found\b|\bdid not match\b",
    re.I,
)
_EXIT_FIRST = Rule(r"^\W{0,3}exit code:? \d+\s*", re.I)
_NUMBERED = Rule(r"^[ \t]*(\d{1,7})[:|\t\u2192]", re.M)
_FILE_NAME = Rule(r"[\w.-]{1,100}\.[a-z]{1,5}")
_PATH = Rule(
    r"(?:(?:[A-Za-z]:)?[\\/]|\.{1,2}/|~/)?(?:[\w.@+-]+[\\/])+[\w.@+-]*|\b[\w-]+\.(?:[a-z]{1,4}|java|yaml|html|json|toml|scala|swift|kotlin)\b(?!\()",
    re.I,
)
_NUMBER = Rule(r"\d+(?:\.\d+)*")
_NAME = Rule(r"\b\w*[_.]\w[\w.]*\b|\b[a-z]+[A-Z]\w*\b")

_OUTSIDE = Rule(
    r"rate[ _-]?limit|too many requests|\b429\b|\b50[0234]\b[ :]+\w|\b(?:internal server error|bad gateway"
    r"|service unavailable|gateway time-?out|overloaded|temporarily unavailable|quota exceeded"
    r"|insufficient_quota"
    r"|resource exhausted)\b|\bconnect(?:ion)? (?:was )?(?:refused|reset|aborted|timed out|closed)"
    r"|\bE(?:CONN(?:REFUSED|RESET|ABORTED)|TIMEDOUT|NOTFOUND|AI_AGAIN)\b|could not resolve host"
    r"|name or service not known"
    r"|temporary failure in name resolution|network is unreachable|no route to host|certificate verify failed"
    r"|\b(?:TLS|SSL)[ :\w]{0,30}(?:handshake|error|failed)|no space left on device|disk quota"
    r"|\bread timed out"
    r"|request timed out|connection timeout|max retries exceeded|remote end closed|network error|fetch failed"
    r"|try again later",
    re.I,
)  # fmt: skip


_OUTSIDE_SIGNS = (
    "limit", "too many", "429", "500", "502", "503", "504", "internal server", "gateway", "unavailable",
    "overloaded", "quota", "exhausted", "connect", "econn", "etimedout", "enotfound", "eai_again",
    "could not resolve", "name or service", "name resolution", "network", "no route", "certificate", "tls",
    "ssl", "no space left", "timed out", "max retries", "remote end", "fetch failed", "try again later",
)  # fmt: skip
"""One of these is in every text that `_OUTSIDE` finds."""
_SAYS_SO_SIGNS = (
    "error", "fatal:", "exception", "traceback", "usage:", "sh: ", ": command not found", ": cannot ",
    ": can't ", ": no such file", ": line ",
)  # fmt: skip
_JSON_SIGNS = ('error"', '"success"', '"ok"')
_BROKEN_SIGNS = ("build fail", "compilation", "syntax error")
_FAILING_SIGNS = ("fail", "errors")


def _found(rule: Rule, signs: tuple[str, ...], text: str) -> re.Match[str] | None:
    """What a rule finds. It is tried only on texts with one of its signs, which is much quicker to see."""
    return rule.search(text) if has_sign(text, signs) else None


_last: tuple[Step, str, str | None] | None = None


def failure_line(step: Step, operation: str) -> str | None:
    """The line that says what went wrong, as it is written; None where nothing is said to have gone wrong.

    Where the source does not tell, only a text that plainly is an error message counts.
    """
    # Several signals ask it of one step in turn.
    global _last
    known = _last
    if known is not None and known[0] is step and known[1] == operation:
        return known[2]
    line = _failure_line(step, operation)
    _last = (step, operation, line)
    return line


def is_report(step: Step, operation: str) -> bool:
    """Whether a failure is what the step was to find out: a test that fails, a search that finds nothing."""
    if operation == "search":
        return _found_nothing(step)
    return operation == "test" or (
        not step.error and _found(_FAILING, _FAILING_SIGNS, step.result[:8_000]) is not None
    )


def _found_nothing(step: Step) -> bool:
    """Whether a search just found nothing; not where the source says that it could not be made."""
    if not step.said_to_fail:
        return True
    error = (step.error or "").strip()
    told = "" if EXIT.fullmatch(error) else _EXIT_FIRST.sub("", error)
    text = (told or step.result).strip()
    if not text or _NOTHING.search(text[:600]):
        return True
    # Of grep, and of xargs when a grep of it did.
    return step.exit_code in NOTHING_FOUND and not _SAYS_SO.match(text[:200].partition("\n")[0])


def _failure_line(step: Step, operation: str) -> str | None:
    if step.error and NOT_ITS_OWN.search(step.error):
        return None
    if step.error and not _is_content(step, operation):
        return told_line(step.error, step.result) or "error"
    if step.error == "" or step.exit_code not in (None, 0):
        return telling_line(step.result) or f"exit code {step.exit_code or 1}"
    text = step.result.strip()
    if not text or step.exit_code == 0:
        return None
    # What an editor answers with is often the file as it is now, which may speak of errors itself.
    edits = operation in ("write", "delete", "other") and step.tool != "" and not is_shell(step)
    acts = operation in ("run", "write", "other", "delete", "test") and not edits
    if len(text) <= SHORT:
        if has_sign(text, _SAYS_SO_SIGNS) and _says_so(text, acts, edits):
            return telling_line(text)
        answer = text.partition("\n")[0] if edits and text[0] not in "{[" else text
        if '"' in answer and _found(_JSON_ERROR, _JSON_SIGNS, answer):
            return telling_line(text)
    if edits and (match := _REPORT.search("\n".join(text.split("\n", HEAD_LINES)[:HEAD_LINES]))) is not None:
        return telling_line(text[match.start() :])
    if acts and (match := _broken(text[:8_000])) is not None:
        return telling_line(text[text.rfind("\n", 0, match.start()) + 1 :])
    if acts and (text.startswith("Traceback (most recent") or _ends_in_exception(text)):
        return telling_line(text)
    return None


def _says_so(text: str, acts: bool, edits: bool) -> bool:
    """Whether a text says at its start that it is an error; of what acts, also at its end."""
    lines = text.split("\n", 3)
    if edits and _DONE.search(lines[0][:200]):
        # What follows is the file.
        return _SAYS_SO.match(lines[0][:200]) is not None
    said = (*lines[:3], text[-300:].rpartition("\n")[2]) if acts else lines[:2]
    return any(_SAYS_SO.match(item[:200]) for item in said)


def _is_content(step: Step, operation: str) -> bool:
    """Whether what the source took for an error is a line of a file, or a file's name, that was shown."""
    error = step.error or ""
    if _NUMBERED.match(error):
        numbers = [int(item) for item in _NUMBERED.findall(step.result or error)]
        return sum(item + 1 == other for item, other in pairwise(numbers)) >= CONTENT_LINES - 1
    looks = operation in ("read", "list", "search") and _FILE_NAME.fullmatch(error.strip()) is not None
    return looks and len(step.result.split(None, CONTENT_LINES)) >= CONTENT_LINES


def _broken(text: str) -> re.Match[str] | None:
    return _found(_BROKEN, _BROKEN_SIGNS, text) or _found(_FAILING, _FAILING_SIGNS, text)


def _ends_in_exception(text: str) -> bool:
    return "Traceback (most recent" in text and EXCEPTION.match(text[-600:].rpartition("\n")[2]) is not None


def error_key(line: str, strength: str = "medium") -> str:
    """The error with paths, numbers and ids taken out; two hundred characters at most.

    >>> error_key("src/a.py:12: error: 'x' is not defined"), error_key("can't open '/tmp/q7'", "high")
    ("path:n: error: 'x' is not defined", "can't open q")
    """
    text = cleaned(line[:600], "low" if strength == "low" else "medium")
    if strength != "low":
        text = _NUMBER.sub("N", _PATH.sub("PATH", text))
    if strength == "high":
        text = _NAME.sub("NAME", QUOTED.sub("Q", text))
    return text.casefold()[:MOST].strip() or "error"


def is_outside(step: Step, line: str) -> bool:
    """Whether an error is trouble outside the agent's hands: network, rate limit, full disk."""
    if _found(_OUTSIDE, _OUTSIDE_SIGNS, f"{line}\n{(step.error or '')[:500]}"):
        return True
    short = step.said_to_fail and step.length <= SHORT
    return short and _found(_OUTSIDE, _OUTSIDE_SIGNS, step.result) is not None
