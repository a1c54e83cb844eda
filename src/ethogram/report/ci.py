"""Detections and lint results for CI: GitHub annotations, JUnit XML, Markdown and SARIF.

All text of the input goes through `clean` first, so it is one printable line; each format then escapes what
would end its own syntax.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from ..errors import Fault
from ..models import rank
from .text import headline
from .wording import by_severity, clean, inert, plural, ranked, sentence, span, sureness, title_of, whom

if TYPE_CHECKING:
    from ..app.result import Analysis
    from ..models import Detection


ANNOTATIONS = 10
"""Annotations of one level that GitHub shows for a step."""
ROWS = 200
"""Rows of a Markdown table; a step summary may have 1 MiB."""
GRAVE = "high"
"""The severity from which a detection is an error, unless --fail-on says otherwise."""
SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def is_grave(detection: Detection, fail_on: str | None) -> bool:
    """Whether a detection is an error in CI: at or above --fail-on, else high or critical."""
    return rank(detection.severity) >= rank(fail_on or GRAVE)


# --- GitHub ---------------------------------------------------------------------------------


def github_lines(
    analysis: Analysis, detections: Iterable[Detection], *, file: str = "", fail_on: str | None = None
) -> Iterator[str]:
    """Workflow commands, gravest first; what exceeds GitHub's limit, as plain lines of the log."""
    shown: Counter[str] = Counter()
    for detection in ranked(detections):
        level = "error" if is_grave(detection, fail_on) else _LEVELS[detection.severity]
        title = f"{title_of(detection)}: {whom(detection)}"
        shown[level] += 1
        if shown[level] > ANNOTATIONS:
            yield _plain(f"{detection.severity.upper()}  {title}  {sentence(detection)}")
            continue
        text = f"{_facts(analysis, detection)}\n{sentence(detection)}"
        if detection.recommendation:
            text += f"\nWhat to do: {clean(detection.recommendation)}"
        properties = {"file": file, "title": title}
        named = ",".join(f"{name}={_property(value)}" for name, value in properties.items() if value)
        yield f"::{level} {named}::{_message(text)}"
    yield _plain(headline(analysis))


_LEVELS = {"low": "notice", "medium": "warning", "high": "warning", "critical": "warning"}


def _plain(text: str) -> str:
    return f"  {inert(clean(text, 2000))}"


def _message(text: str) -> str:
    """The value of a workflow command.

    >>> _message("100 %\\n::error::")
    '100 %25%0A::error::'
    """
    text = text.replace("##[", "## [").replace("%", "%25")
    return text.replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """The value of a property of a workflow command.

    >>> _property("a,b::c")
    'a%2Cb%3A%3Ac'
    """
    return _message(text).replace(":", "%3A").replace(",", "%2C")


# --- JUnit ----------------------------------------------------------------------------------


def junit_text(
    analysis: Analysis, detections: Iterable[Detection], *, file: str = "", fail_on: str | None = None
) -> str:
    """A JUnit file: a case for each detection, which fails if it is grave, and for each quiet pattern.

    Patterns that could not be judged are skipped cases.
    """
    suite = ET.Element("testsuite", name="ethogram")
    failures = skipped = 0
    for detection in ranked(detections):
        name = f"{title_of(detection)}: {whom(detection)} [{clean(detection.id)}]"
        case = _case(suite, detection.pattern, name, file)
        text = f"{_facts(analysis, detection)}\n{sentence(detection)}"
        if is_grave(detection, fail_on):
            failures += 1
            message = f"{detection.severity}: {sentence(detection)}"
            ET.SubElement(case, "failure", type=detection.severity, message=message).text = text
        else:
            ET.SubElement(case, "system-out").text = text
    for row in analysis.checked:
        if row.quiet:
            _case(suite, row.pattern, "no detection", file)
        elif not row.detections:
            skipped += 1
            missing = ", ".join(map(clean, row.missing))
            why = "insufficient data" if row.histories else "not applicable: no history to look at"
            message = f"no event has {missing}" if missing else why
            ET.SubElement(_case(suite, row.pattern, "not judged", file), "skipped", message=message)
    counts = {"tests": len(suite), "failures": failures, "errors": 0, "skipped": skipped}
    suite.attrib |= {name: str(count) for name, count in counts.items()} | {"time": "0"}
    suites = ET.Element("testsuites", {"name": "ethogram", **suite.attrib})
    suites.append(suite)
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _case(suite: ET.Element, pattern: str, name: str, file: str) -> ET.Element:
    fields = {"classname": f"ethogram.{clean(pattern)}", "name": name, "time": "0"}
    return ET.SubElement(suite, "testcase", fields | ({"file": clean(file)} if file else {}))


# --- Markdown -------------------------------------------------------------------------------


def markdown_lines(analysis: Analysis, detections: Iterable[Detection]) -> Iterator[str]:
    """A summary with one row for each detection, gravest first."""
    rows = ranked(detections)
    yield "## ethogram"
    yield ""
    yield _escaped(headline(analysis))
    if rows:
        yield ""
        yield "| severity | pattern | who | when | what |"
        yield "| --- | --- | --- | --- | --- |"
        for row in rows[:ROWS]:
            when = _when(analysis, row)
            cells = (row.severity, title_of(row), whom(row), when, sentence(row))
            yield f"| {' | '.join(map(_escaped, cells))} |"
    if len(rows) > ROWS:
        yield ""
        yield f"{plural(len(rows) - ROWS, 'more detection')} ({by_severity(rows[ROWS:])})."


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, HTML, links or mentions.

    >>> print(_escaped("a|b <i> *x* @ann www.example.org"))
    a\\|b &lt;i&gt; \\*x\\* @<!-- -->ann www\\.example.org
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"[\\`*_\[\]#|~$]", r"\\\g<0>", text)
    text = re.sub(r"(?i)\b(www)\.", r"\1\\.", text).replace("://", "\\://")
    return text.replace("@", "@<!-- -->")


# --- SARIF ----------------------------------------------------------------------------------


def sarif(faults: Sequence[Fault], warnings: Sequence[Fault], version: str) -> dict[str, Any]:
    """Faults and warnings of pattern files as a SARIF 2.1.0 log."""
    rules = {
        "pattern-fault": "A pattern file that cannot be used",
        "pattern-advice": "A pattern that could be better",
    }
    driver = {
        "name": "ethogram",
        "version": version,
        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in rules.items()],
    }
    results = [_result(fault, "pattern-fault", 0, "error") for fault in faults]
    results += [_result(warning, "pattern-advice", 1, "warning") for warning in warnings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _result(fault: Fault, rule: str, index: int, level: str) -> dict[str, Any]:
    message = {"text": clean(fault.message, 2000)}
    result: dict[str, Any] = {"ruleId": rule, "ruleIndex": index, "level": level, "message": message}
    if fault.path:
        place: dict[str, Any] = {"artifactLocation": _artifact(fault.path)}
        if fault.line:
            place["region"] = {"startLine": fault.line}
            if fault.column:
                place["region"]["startColumn"] = fault.column
        result["locations"] = [{"physicalLocation": place}]
    return result


def _artifact(path: str) -> dict[str, str]:
    """A file below the working directory by its path from there, another by its URI."""
    whole = Path(path).absolute()
    if whole.is_relative_to(Path.cwd()):
        name = quote(whole.relative_to(Path.cwd()).as_posix(), errors="surrogateescape")
        return {"uri": name, "uriBaseId": "%SRCROOT%"}
    return {"uri": whole.as_uri()}


# --- words ----------------------------------------------------------------------------------


def _when(analysis: Analysis, detection: Detection) -> str:
    return span(detection.opened_at, detection.closed_at, timed=detection.source not in analysis.untimed)


def _facts(analysis: Analysis, detection: Detection) -> str:
    names = f"pattern {clean(detection.pattern)}, {sureness(detection)}, id {clean(detection.id)}"
    return f"{detection.severity.upper()}, {_when(analysis, detection)} ({names})"
