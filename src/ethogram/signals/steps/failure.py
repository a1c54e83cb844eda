"""Failure: the line of an outcome that says what went wrong, and whether the agent could help it."""

from __future__ import annotations

import re

from .rule import Rule
from .step import Step
from .volatile import cleaned, has_sign

MOST = 200
"""Characters of an error that count."""
SHORT = 1_500
"""What is read from a file may speak of errors; only so short a result can be an error message itself."""

LEAST = 20
"""Characters of a line that says something, where nothing else does."""
SOME_LINES = 20
"""Lines that are looked at, at either end."""

_EXCEPTION = Rule(
    r"^[ \t>|]*([A-Za-z_][\w.]{0,80}(?:Error|Exception|Warning|Interrupt|Exit|Failure|NotFound)\b.*)$", re.M
)
_ERROR_LINE = Rule(
    r"^[ \t>|#*\[]{0,8}(?:[\w./\\ -]{0,120}[: ] ?)?(?:fatal|error|panic|failed|failure|invalid|cannot"
    r"|can't|unable)\b.{0,300}$"
    r"|^.{0,200}(?:command not found|No such file or directory|Permission denied|not recognized as"
    r"|No match(?:es)? (?:was |were )?found"
    r"|does not exist|did not appear|not found|is not defined|Is a directory|Not a directory)\b.{0,120}$",
    re.I | re.M,
)
_SAYS_SO = Rule(
    r"^\W{0,4}(?:[\w .'-]{0,60}(?:returned|result|output|response)\W{1,3})?(?:error\b|fatal:"
    r"|exception\b|traceback|<tool_use_error>"
    r"|usage:|bash: |sh: |[\w./-]{1,60}: (?:command not found|cannot |can't |No such file|line \d))",
    re.I,
)
_BROKEN = Rule(
    r"^BUILD FAIL(?:ED|URE)\b|\bcompilation (?:failed|error)\b|\bsyntax error\(?s?\)? (?:was|were|in)\b",
    re.M | re.I,
)
_FAILING = Rule(r"\b[1-9]\d{0,5} (?:failing|failed|failures?)\b|\b(?:failures|errors)[=:] ?[1-9]", re.I)
_NOT_ITS_OWN = Rule(
    r"sibling tool call|(?:cancelled|canceled|rejected|interrupted) by (?:the )?user|user (?:doesn't"
    r"|does not) want",
    re.I,
)
_JSON_ERROR = Rule(
    r'"(?:error|is_error|isError)"\s*:\s*(?:true|"[^"]{1,300}|\{)|"(?:success|ok)"\s*:\s*false', re.I
)
_NOISE = Rule(
    r"^(?:\W*|\d+ (?:errors?|warnings?)\W*|exit code:? \d+|\[?process .{0,40}"
    r"|\W*(?:the following )?(?:errors?|fatal|failures?|failed|exceptions?|stderr|output)\W*"
    r"|make(?:\[\d+\])?: .{0,120}|npm (?:ERR!|error).{0,20})$",
    re.I,
)
_LABEL = Rule(r"^(?:(?:exit code:?|returncode:?)\s*\d+\s*)|</?[a-z_]{1,30}>|^\W+", re.I)
_PATH = Rule(
    r"(?:(?:[A-Za-z]:)?[\\/]|\.{1,2}/|~/)?(?:[\w.@+-]+[\\/])+[\w.@+-]*|\b[\w-]+\.(?:[a-z]{1,4}|java|yaml|html|json|toml|scala|swift|kotlin)\b(?!\()",
    re.I,
)
_NUMBER = Rule(r"\d+(?:\.\d+)*")
_QUOTED = Rule(r"(?<!\w)'[^'\n]{0,200}'|\"[^\"\n]{0,200}\"|`[^`\n]{0,200}`")
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
    return operation in ("test", "search") or (
        not step.error and _found(_FAILING, _FAILING_SIGNS, step.result[:8_000]) is not None
    )


def _failure_line(step: Step, operation: str) -> str | None:
    if step.error and _NOT_ITS_OWN.search(step.error):
        return None
    if step.error:
        return _chosen(step.error) or _chosen(step.result) or "error"
    if step.error == "" or step.exit_code not in (None, 0):
        return _chosen(step.result) or f"exit code {step.exit_code or 1}"
    text = step.result.strip()
    if not text or step.exit_code == 0:
        return None
    acts = operation in ("run", "write", "other", "delete", "test")
    if len(text) <= SHORT:
        if has_sign(text, _SAYS_SO_SIGNS):
            lines = text.split("\n", 3)
            said = (*lines[:3], text[-300:].rpartition("\n")[2]) if acts else lines[:2]
            if any(_SAYS_SO.match(one[:200]) for one in said):
                return _chosen(text)
        if '"' in text and _found(_JSON_ERROR, _JSON_SIGNS, text):
            return _chosen(text)
    if acts and (found := _broken(text[:8_000])) is not None:
        return _chosen(text[text.rfind("\n", 0, found.start()) + 1 :])
    if acts and (text.startswith("Traceback (most recent") or _ends_in_exception(text)):
        return _chosen(text)
    return None


def _broken(text: str) -> re.Match[str] | None:
    return _found(_BROKEN, _BROKEN_SIGNS, text) or _found(_FAILING, _FAILING_SIGNS, text)


def _ends_in_exception(text: str) -> bool:
    return "Traceback (most recent" in text and _EXCEPTION.match(text[-600:].rpartition("\n")[2]) is not None


def _chosen(text: str) -> str:
    """The telling line: the exception of a traceback, the first that speaks of an error, or the last one."""
    if len(text) > 8_000:
        text = f"{text[:4_000]}\n{text[-4_000:]}"
    if "Traceback (most recent" in text and (raised := _EXCEPTION.findall(text)):
        return _bare(str(raised[-1]))
    lines = text.splitlines()
    if len(lines) > 2 * SOME_LINES:
        lines = lines[:SOME_LINES] + lines[-SOME_LINES:]
    # Where there is nothing but noise, the last of it that says more than a number.
    said = [line for line in lines if not _NOISE.match(line.strip()[:400])]
    lines = said or [line for line in lines if len(line.strip()) > LEAST][-1:]
    for line in lines:
        if _ERROR_LINE.match(line[:400]) or _EXCEPTION.match(line[:400]):
            return _bare(line)
    return _bare(lines[-1]) if lines else ""


def _bare(line: str) -> str:
    return _LABEL.sub("", line.strip()[:1_000]).strip()[:600]


def error_key(line: str, strength: str = "medium") -> str:
    """The error with paths, numbers and ids taken out; two hundred characters at most.

    >>> error_key("src/a.py:12: error: 'x' is not defined"), error_key("can't open '/tmp/q7'", "high")
    ("path:n: error: 'x' is not defined", "can't open q")
    """
    text = cleaned(line[:600], "low" if strength == "low" else "medium")
    if strength != "low":
        text = _NUMBER.sub("N", _PATH.sub("PATH", text))
    if strength == "high":
        text = _NAME.sub("NAME", _QUOTED.sub("Q", text))
    return text.casefold()[:MOST].strip() or "error"


def is_outside(step: Step, line: str) -> bool:
    """Whether an error is trouble outside the agent's hands: network, rate limit, full disk."""
    if _found(_OUTSIDE, _OUTSIDE_SIGNS, f"{line}\n{(step.error or '')[:500]}"):
        return True
    short = step.said_to_fail and step.length <= SHORT
    return short and _found(_OUTSIDE, _OUTSIDE_SIGNS, step.result) is not None
