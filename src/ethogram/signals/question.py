"""question: whether something was asked."""

from __future__ import annotations

import re

from ..records import Event
from .define import signal

# A '?' inside a word is an address (page?id=1), not a question. Scripts that write without spaces
# have question marks of their own.
_MARK = re.compile(r"\?(?![\w=&%/])|[？؟⁇⁈⁉՞፧]")


@signal("question", range=(0, 1))
def question(event: Event) -> float | None:
    """1.0 where the text has a question mark in it, else 0.0; absent without text.

    >>> question(Event.sample(text="Why? Tell me.")), question(Event.sample(text="See x.org/a?b=1"))
    (1.0, 0.0)
    """
    return None if event.text is None else float(_MARK.search(event.text) is not None)
