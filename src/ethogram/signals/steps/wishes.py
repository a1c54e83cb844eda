"""Wishes: what a person's message says about paths, read sentence by sentence and with caution.

A path is named; or it may not be changed ("don't touch x"); or nothing else may ("only edit x"). A sentence
with a condition, a report of what somebody else said, or an object that is no plain path restricts nothing.
"""

from __future__ import annotations

import re
from functools import cache

from .own_words import split
from .prompt_paths import path_in_prompt
from .words import words

MOST = 40
"""Lines kept of each message, and of all."""

Wish = tuple[str, str]
"""`named`, `shown`, `only` or `barred`, and the path."""

NEGATIVE = words(
    "not don't dont never no without except avoid cannot can't mustn't shouldn't nor neither unless"
)
REPORTING = words(
    "says said say saying reads states stated told tells prints printed printing output outputs shows showed "
    "error message returned returns complains complained comment comments writes wrote warns warned claims"
)
FILLERS = words(
    "the any anything everything all file files folder folders directory directories code in inside under of "
    "within below my our this that these those contents module modules package existing either to on"
)
JOINING = words("and or nor & plus")
FOLDER_WORDS = words("folder directory dir package module tree subtree")
ENDING = words("please because since as so either at - – — ( thanks")
"""Words after the last path that leave what was said as it is."""
NOTHING = words("nothing not don't do leave")
NEXT = NOTHING | words("in run make keep fix add use just then only")
"""How another request begins."""
EXCEPT = words("outside except but beyond besides")
BEFORE = words("please and but also so then you just ever to only strictly again - * •")
MODAL = words("should must may can could")
"""Of these only what `you` should is asked; what a program could do is not."""
LABELS = words(
    "note important rules rule constraints constraint remember nb attention scope careful warning caution"
)


def wishes(text: str) -> tuple[Wish, ...]:
    """What a message says about paths, forty things at most, in order.

    >>> wishes("Put the token into .env, but don't touch config/prod.yaml.")
    (('named', '.env'), ('barred', 'config/prod.yaml'))
    >>> wishes("Only edit `src/a.py` and src/b.py. See https://example.org/etc/passwd and/or 1/2.")
    (('only', 'src/a.py'), ('only', 'src/b.py'))
    """
    said, shown = split(text)
    found: dict[Wish, None] = {}
    for line in said:
        for sentence in _stop().split(line):
            found.update(dict.fromkeys(_in_sentence(sentence)))
    for line in shown:
        found.update(dict.fromkeys(("shown", path) for path in _paths(line.split())))
    return tuple(found)[:MOST]


def _in_sentence(sentence: str) -> list[Wish]:
    # What stands in quotation marks is somebody else's, unless it is one word: a name.
    sentence = _quoted().sub(lambda found: found[0] if " " not in found[0].strip() else " ", sentence)
    restricted = _restriction(sentence)
    if restricted:
        return restricted
    parts = sentence.split()
    paths = _paths(parts)
    if not paths:
        return []
    plain = {one.strip(",.:;!?()").lower().replace("’", "'") for one in parts}
    # A path in a sentence that says no is not asked for.
    kind = "shown" if plain & NEGATIVE or plain & REPORTING else "named"
    return [(kind, path) for path in paths]


def _restriction(sentence: str) -> list[Wish]:
    """What a sentence forbids, with the paths named before that; nothing where it forbids nothing plainly."""
    lowered = sentence.lower().replace("’", "'")
    if len(lowered) != len(sentence):
        return []
    bar, only = _bar().search(lowered), _only().search(lowered)
    found = min((one for one in (bar, only) if one is not None), key=lambda one: one.start(), default=None)
    if found is None or not _is_asked(lowered[: found.start()]):
        return []
    kind, rest = ("only" if found is only else "barred"), sentence[found.end() :].split()
    paths, after, turned = _objects(rest)
    if turned:
        kind = "only" if kind == "barred" else ""
    if not paths or not kind or not _ends(after, kind):
        return []
    before = [("named", path) for path in _paths(sentence[: found.start()].split())]
    return [*before, *((kind, path) for path in paths)]


def _is_asked(before: str) -> bool:
    """Whether what stands before a restriction leaves it a request: no report, no other's habit.

    >>> [_is_asked(one) for one in ("please ", "fix it, ", "we ", "the readme says, ", "note: ", "log: ")]
    [True, True, False, False, True, False]
    """
    parts = before.split()
    if any(one.strip(",.:;()\"'") in REPORTING for one in parts):
        return False
    if not parts:
        return True
    last = parts[-1]
    if last.endswith(":"):
        return last[:-1].strip("*_") in LABELS
    if last in MODAL:
        return parts[-2:-1] == ["you"]
    goes_on = last.endswith((",", "(", "-", "–", "—")) or last.strip("*_") in BEFORE
    return goes_on or last.rstrip(".)").isdigit()


def _objects(rest: list[str]) -> tuple[list[str], list[str], bool]:
    """The paths that come first, the words after them, and whether all but these are meant."""
    paths: list[str] = []
    turned = False
    place = end = 0
    while place < len(rest):
        word = rest[place].lower().strip(",.;:!?()")
        path = path_in_prompt(rest[place]) or _folder_name(rest, place)
        if path:
            paths.append(path)
        elif not paths and (word in EXCEPT or (word == "other" and rest[place + 1 : place + 2] == ["than"])):
            turned = True
            place += word == "other"
        elif not (word in FILLERS or (turned and word in ("for", "of")) or (paths and word in JOINING)):
            break
        place += 1
        if path or (end and word in FOLDER_WORDS and end == place - 1):
            end = place
    return paths, rest[end:] if paths else rest, turned


def _folder_name(rest: list[str], place: int) -> str:
    """A word that is no path by its form but by the word after it: the src folder; '' where it is none."""
    after = rest[place + 1].lower().strip(",.;:!?()") if place + 1 < len(rest) else ""
    name = rest[place].strip("`'\"“”,.")
    is_one = after in FOLDER_WORDS and name.lower() not in FILLERS | EXCEPT | JOINING
    return name if is_one and _name().fullmatch(name) else ""


def _ends(after: list[str], kind: str) -> bool:
    """Whether the words after the last path change nothing.

    After `only` they must not go on to another object, which may be a further place that is allowed.
    """
    said = [one.lower().strip(",.;:!?").replace("’", "'") for one in after[:2]]
    if not said or not said[0] or said[0] in ENDING:
        return True
    if said[0] in JOINING or said[0] == "but":
        return len(said) > 1 and said[1] in (NEXT if kind == "barred" else NOTHING)
    return kind == "barred" and said[0] in NEXT


def _paths(parts: list[str]) -> list[str]:
    return [path for part in parts if (path := path_in_prompt(part))]


@cache
def _stop() -> re.Pattern[str]:
    return re.compile(r"(?<=[.!?;])[\"')]?\s+")


@cache
def _quoted() -> re.Pattern[str]:
    return re.compile(r"\"[^\"]{0,1000}\"|“[^”]{0,1000}”|«[^»]{0,1000}»")


@cache
def _bar() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not)\s+(?:ever\s+)?"
        r"(?:touch|change|edit|modify|delete|remove|alter|overwrite|rename|write to)\b:?\s+"
    )


@cache
def _only() -> re.Pattern[str]:
    return re.compile(
        r"\bonly\s+(?:ever\s+)?(?:change|touch|edit|modify|alter|work (?:in|on|inside|within)"
        r"|write (?:to|in))\s+"
        r"|\b(?:change|touch|edit|modify|work|write)\s+only(?:\s+(?:in|on|to|inside|within))?\s+"
    )


@cache
def _name() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z_][\w.-]{0,60}")
