"""Errors: the line of a step's outcome that states the failure; the signals error_key, _text and _count."""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import pairwise

from ...models import Event
from ...models.lazy_regex import Rule
from ..base import remember_last, signal
from ..options import Options
from .normalization import QUOTED, cleaned, digest, has_sign, short_hash, without_colour
from .operations import is_shell, operation_of
from .shown import MAX_SHOWN, excerpt
from .step import Call, Step

MIN_LINE = 20
"""Characters of a line that is taken for the error where every line looks like noise."""
END_LINES = 20
"""Lines examined at either end of a text."""
DETAIL_LINES = 6
"""Lines after a general sentence in which its details are looked for."""
MAX_CODE = 40
"""Characters of a bare error code that is shown together with the line."""
MAX_KEY = 200
CONTENT_LINES = 3
"""So many consecutively numbered lines are the content of a file; so many names are a listing."""
HEAD_LINES = 6
"""Lines at the start of an editor's answer that can report its outcome."""
NO_MATCH_EXITS = (1, 123)
"""Exit codes of grep, and of xargs running it, when nothing matched."""
COULD_NOT_RUN = (126, 127)
NOT_THERE = ("command not found", "No module named pytest", "No such file or directory")
SHORT_RESULT = 1_500
"""Characters of a result that can be an error message itself; what is read from a file may mention errors."""
MAX_REPORTS = 24
MAX_TEXTS = 16
MAX_BATCH = 32

_EXCEPTION = Rule(
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
_LIST_ITEM = Rule(r"\s*[-*\u2022] \S")
_NOISE = Rule(
    r"^(?:\W*|\d+ (?:errors?|warnings?)\W*|exit code:? \d+|\[?process .{0,40}"
    r"|\W*(?:the following )?(?:errors?|fatal|failures?|failed|exceptions?|stderr|output)\W*"
    r"|make(?:\[\d+\])?: .{0,120}|npm (?:ERR!|error).{0,20})$",
    re.I,
)
# Only what is known to wrap an error: usage such as `edit <start_line>`, a path or a quoted name at the start
# stay.
_WRAPPER = Rule(
    r"^(?:(?:exit code:?|returncode:?)\s*\d+\s*)"
    r"|</?(?:tool_use_error|error|stderr|stdout|output|returncode|system)>"
    r"|^(?:[^\w/~.<\[('\"`{$-]|-+(?=\s))+",
    re.I,
)
_EXIT = Rule(r"(?:process )?(?:exit(?:ed)?|returncode)(?: with)?(?: code| status)?:? ?\d{1,5}\.?", re.I)

_ERROR_START = Rule(
    r"^\W{0,4}(?:[\w .'-]{0,60}(?:returned|result|output|response)\W{1,3})?(?:error\b|fatal:"
    r"|exception\b|traceback|<tool_use_error>"
    r"|[a-z_][\w.]{0,80}(?:Error|Exception): |(?:[\w./-]{1,60}: )?No module named\b"
    r"|usage:|bash: |sh: |[\w./-]{1,60}: (?:command not found|cannot |can't |No such file|Permission denied"
    r"|line \d))",
    re.I,
)
_DONE = Rule(r"\b(?:updated|edited|created|written|wrote|saved|replaced|inserted|applied|success\w*)\b", re.I)
_BROKEN = Rule(
    r"^BUILD FAIL(?:ED|URE)\b|\bcompilation (?:failed|error)\b|\bsyntax error\(?s?\)? (?:was|were|in)\b",
    re.M | re.I,
)
_FAILING = Rule(r"\b[1-9]\d{0,5} (?:failing|failed|failures?)\b|\b(?:failures|errors)[=:] ?[1-9]", re.I)
# Of an editor that runs the tests on what it wrote.
_REPORT = Rule(
    r"^(?:BUILD FAIL(?:ED|URE)\b|(?:There (?:is|are|were) )?[1-9]\d{0,5} (?:failing|failed|failures?)\b)",
    re.M,
)
CANCELLED = Rule(
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

_INFRASTRUCTURE = Rule(
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
# Every text that a rule matches contains one of its signs, which are much faster to look for.
_INFRASTRUCTURE_SIGNS = (
    "limit", "too many", "429", "500", "502", "503", "504", "internal server", "gateway", "unavailable",
    "overloaded", "quota", "exhausted", "connect", "econn", "etimedout", "enotfound", "eai_again",
    "could not resolve", "name or service", "name resolution", "network", "no route", "certificate", "tls",
    "ssl", "no space left", "timed out", "max retries", "remote end", "fetch failed", "try again later",
)  # fmt: skip
_ERROR_START_SIGNS = (
    "error", "fatal:", "exception", "traceback", "usage:", "sh: ", ": command not found", ": cannot ",
    ": can't ", ": no such file", ": line ", "no module named", ": permission denied",
)  # fmt: skip
_ERROR_LINE_SIGNS = (
    "fatal", "error", "panic", "failed", "failure", "invalid", "cannot", "can't", "unable", "not found",
    "no such file", "denied", "not recognized", "no match", "does not exist", "did not appear",
    "is not defined", "a directory",
)  # fmt: skip
_JSON_SIGNS = ('error"', '"success"', '"ok"')
_BROKEN_SIGNS = ("build fail", "compilation", "syntax error")
_FAILING_SIGNS = ("fail", "errors")


def error_line(text: str, *, first: bool = False) -> str:
    """Return the exception of a traceback, else the first line that states an error, else the last line.

    `first` takes the first line instead of the last. A general sentence yields to the details below it.

    >>> error_line("New syntax error(s) were found.\\n\\nERRORS:\\n- E999 SyntaxError: invalid syntax")
    'E999 SyntaxError: invalid syntax'
    """
    text = without_colour(text)
    if len(text) > 8_000:
        text = f"{text[:4_000]}\n{text[-4_000:]}"
    if "Traceback (most recent" in text and (raised := _EXCEPTION.findall(text)):
        return _trim(str(raised[-1]))
    lines = text.splitlines()
    if len(lines) > 2 * END_LINES:
        lines = lines[:END_LINES] + lines[-END_LINES:]
    if (line := _first_error(lines)) is not None:
        return _trim(line)
    candidates = [line for line in lines if not _is_noise(line)]
    candidates = candidates or [line for line in lines if len(line.strip()) > MIN_LINE][-1:]
    return _trim(candidates[0 if first else -1]) if candidates else ""


# The report on runs asks again for what was measured.
@lru_cache(maxsize=1024)
def reported_line(error: str, result: str) -> str:
    """Return the line that states an error which the source reports, with the result it belongs to.

    A source may report only a code, or the first line of a longer message: the result has the rest.

    >>> reported_line("format_error", "Give one action."), reported_line("exit 1", "done\\nx: not found")
    ('format_error: Give one action.', 'x: not found')
    """
    code, output = error.strip(), result.strip()
    if not output:
        return error_line(error)
    is_exit = _EXIT.fullmatch(code) is not None
    if is_exit or not any(char.isspace() for char in code):
        line = error_line(output, first=not is_exit)
        if is_exit or not line or len(code) > MAX_CODE or code in line or _is_noise(code):
            return line or code
        return f"{code}: {line}"
    if "\n" not in code and not _EXCEPTION.match(code) and (place := output.find(code)) >= 0:
        below = output[place + len(code) : place + len(code) + 4_000].splitlines()[1 : DETAIL_LINES + 1]
        if not _WITH_CODE.match(code) and (detail := _detail(below)) is not None:
            return _trim(detail)
    return error_line(error) or error_line(output)


def _first_error(lines: list[str]) -> str | None:
    """The first line that states an error, or the detail listed below it; else the first warning."""
    warning = None
    for place, line in enumerate(lines):
        if _is_noise(line):
            continue
        start = line[:400]
        if (raised := _EXCEPTION.match(start)) is not None and _WARNING.match(raised[1]):
            warning = warning or line
        elif raised is not None or _WITH_CODE.match(start):
            return line
        elif has_sign(start, _ERROR_LINE_SIGNS) and _ERROR_LINE.match(start):
            return _detail(lines[place + 1 : place + 1 + DETAIL_LINES]) or line
    return warning


def _detail(lines: list[str]) -> str | None:
    """The first line with an error code, or the first item of a list of errors."""
    for place, line in enumerate(lines):
        if _WITH_CODE.match(line[:400]):
            return line
        if _HEADING.fullmatch(line.strip()[:80]):
            after = next((line for line in lines[place + 1 :] if line.strip()), "")
            if _LIST_ITEM.match(after) or _EXCEPTION.match(after[:400]):
                return after
    return None


def _is_noise(line: str) -> bool:
    return _NOISE.match(line.strip()[:400]) is not None


def _trim(line: str) -> str:
    return _WRAPPER.sub("", line.strip()[:1_000]).strip()[:600]


def _search(rule: Rule, signs: tuple[str, ...], text: str) -> re.Match[str] | None:
    return rule.search(text) if has_sign(text, signs) else None


@remember_last
def failure_line(step: Step, operation: str) -> str | None:
    """Return the line that states the failure, as written; None where the step did not fail.

    Where the source does not report a failure, only a text that plainly is an error message counts.
    """
    if step.error and CANCELLED.search(step.error):
        return None
    if step.error and not _is_content(step, operation):
        return reported_line(step.error, step.result) or "error"
    if step.error == "" or step.exit_code not in (None, 0):
        return error_line(step.result) or f"exit code {step.exit_code or 1}"
    if step.exit_code == 0 or not (text := step.result.strip()):
        return None
    # An editor often answers with the file as it is now, which may mention errors itself.
    edits = operation in ("write", "delete", "other") and step.tool != "" and not is_shell(step)
    acts = operation in ("run", "write", "other", "delete", "test") and not edits
    if len(text) <= SHORT_RESULT:
        if has_sign(text, _ERROR_START_SIGNS) and _starts_with_error(text, acts, edits):
            return error_line(text)
        answer = text.partition("\n")[0] if edits and text[0] not in "{[" else text
        if '"' in answer and _search(_JSON_ERROR, _JSON_SIGNS, answer):
            return error_line(text)
    if edits and (match := _REPORT.search("\n".join(text.split("\n", HEAD_LINES)[:HEAD_LINES]))) is not None:
        return error_line(text[match.start() :])
    if acts and (match := _broken(text[:8_000])) is not None:
        # What a test prints is about the tests, so its first error counts, as where the source reports one.
        return error_line(text if operation == "test" else text[text.rfind("\n", 0, match.start()) + 1 :])
    if acts and "Traceback (most recent" in text:
        is_raised = text.startswith("Traceback (most") or _EXCEPTION.match(text[-600:].rpartition("\n")[2])
        return error_line(text) if is_raised else None
    return None


def _starts_with_error(text: str, acts: bool, edits: bool) -> bool:
    """Whether a text states at its start that it is an error; of a command, also at its end."""
    lines = text.split("\n", 3)
    if edits and _DONE.search(lines[0][:200]):
        # The rest is the file.
        return _ERROR_START.match(lines[0][:200]) is not None
    candidates = (*lines[:3], text[-300:].rpartition("\n")[2]) if acts else lines[:2]
    return any(_ERROR_START.match(line[:200]) for line in candidates)


def _is_content(step: Step, operation: str) -> bool:
    """Whether what the source took for an error is a line of a file, or a file name, that was shown."""
    error = step.error or ""
    if _NUMBERED.match(error):
        numbers = [int(number) for number in _NUMBERED.findall(step.result or error)]
        return sum(a + 1 == b for a, b in pairwise(numbers)) >= CONTENT_LINES - 1
    looks = operation in ("read", "list", "search") and _FILE_NAME.fullmatch(error.strip()) is not None
    return looks and len(step.result.split(None, CONTENT_LINES)) >= CONTENT_LINES


def _broken(text: str) -> re.Match[str] | None:
    return _search(_BROKEN, _BROKEN_SIGNS, text) or _search(_FAILING, _FAILING_SIGNS, text)


def is_report(step: Step, operation: str) -> bool:
    """Return whether a failure is the answer the step was after: a failing test, a search without a match."""
    if operation == "search":
        return _has_no_match(step)
    return operation == "test" or (
        not step.error and _search(_FAILING, _FAILING_SIGNS, step.result[:8_000]) is not None
    )


def _has_no_match(step: Step) -> bool:
    """Whether a search merely found nothing; not where the source reports that it could not run."""
    if not step.reports_failure:
        return True
    error = (step.error or "").strip()
    text = ("" if _EXIT.fullmatch(error) else _EXIT_FIRST.sub("", error)) or step.result
    text = text.strip()
    if not text or _NOTHING.search(text[:600]):
        return True
    return step.exit_code in NO_MATCH_EXITS and not _ERROR_START.match(text[:200].partition("\n")[0])


@lru_cache(maxsize=256)
def normalized_error(line: str, strength: str = "medium") -> str:
    """Return an error line without paths, numbers and ids; 200 characters at most.

    >>> normalized_error("a/b.py:12: 'x' is not defined"), normalized_error("can't open '/tmp/q'", "high")
    ("path:n: 'x' is not defined", "can't open q")
    """
    text = cleaned(line[:600], "low" if strength == "low" else "medium")
    if strength != "low":
        text = _NUMBER.sub("N", _PATH.sub("PATH", text))
    if strength == "high":
        text = _NAME.sub("NAME", QUOTED.sub("Q", text))
    return text.casefold()[:MAX_KEY].strip() or "error"


def is_infrastructure(step: Step, line: str) -> bool:
    """Return whether an error is outside the agent's control: network, rate limit, full disk."""
    if _search(_INFRASTRUCTURE, _INFRASTRUCTURE_SIGNS, f"{line}\n{(step.error or '')[:500]}"):
        return True
    is_short = step.reports_failure and step.length <= SHORT_RESULT
    return is_short and _search(_INFRASTRUCTURE, _INFRASTRUCTURE_SIGNS, step.result) is not None


Batch = tuple[str, tuple[str, ...]]
State = tuple[Batch, tuple[str, ...]]
"""The current batch with its errors; digests of failing reports and refused searches."""


@signal("error_key", range=None, version=3, kinds=("action", "result"), summarize=operation_of)
class ErrorKey:
    """The error of a step, without paths, numbers and ids; absent without an error.

    A failing test or a refused search counts as an error from the second time that it fails in the same
    words; a search that finds nothing never does. Calls of one batch that fail together count once.
    """

    scope = "run"
    start: State = (("", ()), ())
    max_state_bytes = 12_000

    def measure(self, event: Event, state: State, call: Call, options: Options) -> tuple[str | None, State]:
        batch, reports = state
        step, operation, own = call
        if step is None or not step.is_outcome or (line := failure_line(step, operation)) is None:
            return None, state
        if step.exit_code not in COULD_NOT_RUN and not any(cause in line for cause in NOT_THERE):
            is_answer = is_report(step, operation)
            if is_answer and operation == "search":
                return None, state
            if is_answer or operation == "search":
                text = (step.result or step.error or "") if is_answer else line
                hashed = digest(text, options.normalization)
                if hashed not in reports:
                    return None, (batch, (*reports, hashed)[-MAX_REPORTS:])
                line = f"{line} [{hashed}]" if is_answer else line
        key = normalized_error(line, options.normalization)
        keys, hashed = batch[1] if own == batch[0] else (), short_hash(key)
        if hashed in keys:
            return None, state
        return key, ((own, (*keys, hashed)[-MAX_BATCH:]), reports)


_REPORT_KEY = Rule(r"\[[0-9a-z]+\]$")
"""The end of the key of a failing test, which stands for the rest of what it said."""
Texts = tuple[tuple[str, str], ...]
"""Hashes of error keys, with what the first error of each said."""


@signal("error_text", range=None, kinds=("action", "result"), needs=("error_key",), summarize=operation_of)
class ErrorText:
    """The error of a step as it was written, without secrets and personal data; absent without an error key.

    Errors with one key have one text in a run: that of the first. A key that came with the event is its text.
    """

    scope = "run"
    start: Texts = ()
    max_state_bytes = 32_000

    def measure(self, event: Event, state: Texts, call: Call) -> tuple[str | None, Texts]:
        key = event.readings.get("error_key")
        if not isinstance(key, str):
            return None, state
        hashed = short_hash(key)
        known = next((text for own, text in state if own == hashed), None)
        if known is not None:
            return known, state
        step, operation, _ = call
        # A key that came with the event says what its source wants to be said.
        is_own = event.scorers.get("error_key", "").startswith("error_key@")
        line = failure_line(step, operation) if is_own and step is not None else None
        text = excerpt(without_colour(line.partition("\n")[0])) if line else ""
        text = text or key[:MAX_SHOWN]
        return text, (*state, (hashed, text))[-MAX_TEXTS:]


Counts = tuple[tuple[str, int], ...]
"""Hashes of error keys, with how often each has come; the newest last."""


@signal("error_count", range=(1, math.inf), kinds=("action", "result"), needs=("error_key",))
class ErrorCount:
    """How often the error of a step has come in the run, the step included; absent without an error key.

    The first failure of a test, which has no error key, counts too.
    """

    scope = "run"
    start: Counts = ()
    max_state_bytes = 4_000

    def measure(self, event: Event, state: Counts) -> tuple[float | None, Counts]:
        key = event.readings.get("error_key")
        if not isinstance(key, str):
            return None, state
        hashed, is_own = short_hash(key), event.scorers.get("error_key", "").startswith("error_key@")
        first = 1 if is_own and _REPORT_KEY.search(key) else 0
        count = next((known for own, known in state if own == hashed), first) + 1
        others = tuple(item for item in state if item[0] != hashed)
        return float(count), (*others, (hashed, count))[-MAX_TEXTS:]
