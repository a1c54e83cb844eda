"""Own words: which lines of a person's message are theirs, and which only show what somebody else wrote.

Pasted logs, stack traces, quoted text and blocks of code are shown, not said: they ask for nothing.
"""

from __future__ import annotations

import re
from functools import cache

LONGEST = 8_000
MOST_LINES = 400


def split(text: str) -> tuple[list[str], list[str]]:
    """The lines a person says, and those that are only shown: fenced, quoted, between tags, or of a trace.

    >>> split("Fix it.\\n> do not touch a.py\\n  File \\"/srv/a.py\\", line 3\\n```\\ncat b.py\\n```")
    (['Fix it.'], ['> do not touch a.py', '  File "/srv/a.py", line 3', 'cat b.py'])
    """
    said: list[str] = []
    shown: list[str] = []
    until = ""
    # The last line may be cut in the middle: half a name is no name.
    lines = text[:LONGEST].splitlines()[: -1 if len(text) > LONGEST else None]
    for place, line in enumerate(lines[:MOST_LINES]):
        bare = line.strip()
        if until:
            if bare.startswith(until):
                until = ""
            else:
                shown.append(line)
        elif bare.startswith(("```", "~~~")):
            until = bare[:3]
        elif closing := _closing(bare):
            if any(one.strip().startswith(closing) for one in lines[place + 1 : MOST_LINES]):
                until = closing
            shown.append(line)
        else:
            (shown if _is_shown(line, bare) else said).append(line)
    return said, shown


def _closing(bare: str) -> str:
    """How a block ends that this line opens with a tag; '' where it opens none.

    >>> _closing("<system-reminder>"), _closing("<b>bold</b> words"), _closing("a < b")
    ('</system-reminder', '</b', '')
    """
    found = _tag().match(bare)
    return f"</{found[1]}" if found else ""


def _is_shown(line: str, bare: str) -> bool:
    indented = line.startswith(("    ", "\t")) and not bare.startswith(("-", "*", "+"))
    return indented or bare.startswith((">", "$ ", ">>> ", "+++", "---", "@@")) or bool(_trace().match(bare))


@cache
def _tag() -> re.Pattern[str]:
    return re.compile(r"<([A-Za-z][\w-]{0,40})(?: [^<>]{0,200})?>")


@cache
def _trace() -> re.Pattern[str]:
    return re.compile(
        r"File \"|at [\w$.<>/]+ ?\(|Traceback \(|(?:[\w.]{0,80}(?:Error|Exception|Warning)\b:?)"
        r"|\[?(?:INFO|ERROR|DEBUG|WARN|WARNING|TRACE|FATAL)\b[\]:]?|\d{4}-\d\d-\d\d[ T]\d\d:|#\d+ "
        r"|(?:[\w.\\/-]|[A-Za-z]:\\){1,200}:\d{1,6}(?::\d{1,6})?:"
        r"|(?:ba|z)?sh: |(?:cat|ls|cp|mv|rm|grep|cd|find): "
    )
