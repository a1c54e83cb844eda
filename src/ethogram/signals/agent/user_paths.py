"""Paths the user named: which ones a person's messages allow or forbid."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

from ...models import Event
from ..base import signal
from ..options import Options
from .path_scope import SYSTEM, is_critical
from .paths import joined
from .step import words
from .tool_calls import mark

# Own words: which lines of a person's message are theirs, and which only show what somebody else wrote.
#
# Pasted logs, stack traces, quoted text and blocks of code are shown, not said: they ask for nothing.

LONGEST = 8_000
OWN_WORDS_MOST_LINES = 400


def split(text: str) -> tuple[list[str], list[str]]:
    """The lines a person says, and those that are only shown: fenced, quoted, between tags, or of a trace.

    >>> split("Fix it.\\n> do not touch a.py\\n  File \\"/srv/a.py\\", line 3\\n```\\ncat b.py\\n```")
    (['Fix it.'], ['> do not touch a.py', '  File "/srv/a.py", line 3', 'cat b.py'])
    """
    texts: list[str] = []
    shown: list[str] = []
    until = ""
    # The last line may be cut in the middle: half a name is no name.
    lines = text[:LONGEST].splitlines()[: -1 if len(text) > LONGEST else None]
    for place, line in enumerate(lines[:OWN_WORDS_MOST_LINES]):
        bare = line.strip()
        if until:
            if bare.startswith(until):
                until = ""
            else:
                shown.append(line)
        elif bare.startswith(("```", "~~~")):
            until = bare[:3]
        elif closing := _closing(bare):
            if any(line.strip().startswith(closing) for line in lines[place + 1 : OWN_WORDS_MOST_LINES]):
                until = closing
            shown.append(line)
        else:
            (shown if _is_shown(line, bare) else texts).append(line)
    return texts, shown


def _closing(bare: str) -> str:
    """How a block ends that this line opens with a tag; '' where it opens none.

    >>> _closing("<system-reminder>"), _closing("<b>bold</b> words"), _closing("a < b")
    ('</system-reminder', '</b', '')
    """
    match = _tag().match(bare)
    return f"</{match[1]}" if match else ""


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


# Paths in prompts: which words of a message are plainly paths. A URL, a fraction or and/or is none.

LONGEST_PATH = 160
EXTENSIONS = words(
    "py pyi js jsx ts tsx mjs cjs go rs java kt scala c h cc cpp hpp cs rb php swift sh bash zsh sql html "
    "css scss vue svelte md rst txt json jsonl yaml yml toml ini cfg conf env lock xml csv tsv proto gradle "
    "pem key crt log ipynb r jl lua pl ex exs erl hs ml tf hcl dockerfile parquet properties"
)
"""Endings by which a name without a folder is taken for a file."""


def path_in_prompt(word: str) -> str:
    """The path that a word of a message is; '' where it is none, or could as well be something else.

    >>> said = ("`src/a.py`:12,", "and/or", "C:\\\\app\\\\x.cs", "http://a/b.py", "v1.2")
    >>> [path_in_prompt(one) for one in said]
    ['src/a.py', '', 'C:/app/x.cs', '', '']
    """
    # Most words are none, and this is the quickest way to see it.
    if "/" not in word and "." not in word and "\\" not in word and "id_" not in word:
        return ""
    marked = word.startswith(("`", "'", '"', "“")) and len(word) > 2
    bare = word.strip("`'\"“”‘’()[]<>{},;!?").rstrip(".:")
    bare = bare[2:-2] if bare.startswith("**") and bare.endswith("**") else bare
    bare = _place().sub("", bare.strip("`'\"“”‘’()[]<>,;")).rstrip(".:")
    if not bare or len(bare) > LONGEST_PATH or "://" in bare or bare.startswith(("www.", "@", "-", "//")):
        return ""
    drive = bool(_drive().match(bare))
    bare = bare.replace("\\", "/")
    for tail in ("/**/*", "/**", "/*"):
        bare = bare.removesuffix(tail[1:]) if bare.endswith(tail) else bare
    if bare[:2] in ("s/", "y/") and bare.count("/") == 3:
        return ""
    if not _form().fullmatch(bare[2:] if drive else bare) or set(bare) <= set("./~"):
        return ""
    return bare.removeprefix("./") if drive or _is_path(bare, marked) else ""


def _is_path(bare: str, marked: bool) -> bool:
    last = bare.rstrip("/").rpartition("/")[2]
    ending = last.rpartition(".")[2].lower() if "." in last.strip(".") else ""
    if is_critical(bare, False) or (last[:1] == "." and last[1:2].isalpha()):
        return True
    if "/" not in bare:
        return ending in EXTENSIONS and last[0] != "."
    if bare[0] in "/~" or bare.startswith(("./", "../")) or bare.endswith("/") or ending[:1].isalpha():
        return True
    return (marked or bare.count("/") > 1) and any(item.isalpha() for item in bare)


@cache
def _place() -> re.Pattern[str]:
    """A line and column after a path, as compilers write them."""
    return re.compile(r"[`'\"]?:\d{1,6}(?:[:-]\d{1,6})?$|#L\d{1,6}$")


@cache
def _drive() -> re.Pattern[str]:
    return re.compile(r"[A-Za-z]:[\\/]")


@cache
def _form() -> re.Pattern[str]:
    return re.compile(r"\.{0,2}[\w~/*][\w.~@+%/*-]*")


# Wishes: what a person's message says about paths, read sentence by sentence and with caution.
#
# A path is named; or it may not be changed ("don't touch x"); or nothing else may ("only edit x"). A sentence
# with a condition, a report of what somebody else said, or an object that is no plain path restricts nothing.

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
WISHES_NOTHING = words("nothing not don't do leave")
NEXT = WISHES_NOTHING | words("in run make keep fix add use just then only")
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
    record: dict[Wish, None] = {}
    for line in said:
        for sentence in _stop().split(line):
            record.update(dict.fromkeys(_in_sentence(sentence)))
    for line in shown:
        record.update(dict.fromkeys(("shown", path) for path in _paths(line.split())))
    return tuple(record)[:MOST]


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
    plain = {part.strip(",.:;!?()").lower().replace("’", "'") for part in parts}
    # A path in a sentence that says no is not asked for.
    kind = "shown" if plain & NEGATIVE or plain & REPORTING else "named"
    return [(kind, path) for path in paths]


def _restriction(sentence: str) -> list[Wish]:
    """What a sentence forbids, with the paths named before that; nothing where it forbids nothing plainly."""
    lowered = sentence.lower().replace("’", "'")
    if len(lowered) != len(sentence):
        return []
    bar, only = _bar().search(lowered), _only().search(lowered)
    found = min(
        (item for item in (bar, only) if item is not None), key=lambda item: item.start(), default=None
    )
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
    if any(part.strip(",.:;()\"'") in REPORTING for part in parts):
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
    said = [item.lower().strip(",.;:!?").replace("’", "'") for item in after[:2]]
    if not said or not said[0] or said[0] in ENDING:
        return True
    if said[0] in JOINING or said[0] == "but":
        return len(said) > 1 and said[1] in (NEXT if kind == "barred" else WISHES_NOTHING)
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


# Asked: what a run was told about paths, by persons or by attributes, and whether a path is among them.
#
# It is carried from event to event as plain text, one line for each path: `named .env`. What persons say is
# never made into a rule: their paths are compared as they stand.

SHARED = frozenset(("home", "Users", "root", "mnt", "srv", "data"))
"""Top folders that hold the projects of several people."""
WORLD = SHARED | words(
    "etc usr lib lib64 opt proc sys bin sbin var boot dev tmp snap nix Library System private"
)
"""Top folders that are too wide to be what a task is about."""
OTHER = {"named": "barred", "barred": "named"}

Asked = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Paths that are named, shown, the only ones to change, and not to be changed."""
NOTHING: Asked = ((), (), (), ())
Told = tuple[str, tuple[str, ...], tuple[str, ...]]
"""Working directory, allowed and denied globs."""
UNTOLD: Told = ("", (), ())
EXPLICIT = ("cwd ", "allow ", "deny ")
MOST_GLOBS = 50
MOST_LINES = 2 * MOST_GLOBS + 1 + MOST
MOST_BYTES = 32_000


def with_wishes(text: str, more: Iterable[Wish]) -> str:
    """What was told before and what is asked now; who names what was barred before allows it.

    >>> with_wishes("barred a.py", [("named", "a.py"), ("only", "src")])
    'named a.py\\nonly src'
    """
    lines = dict.fromkeys(text.split("\n") if text else ())
    for kind, path in more:
        lines.pop(f"{OTHER.get(kind, kind)} {path}", None)
        lines[f"{kind} {path}"] = None
    return _bounded(list(lines))


def told_by(attributes: Mapping[str, Any]) -> Told:
    """The working directory and the allowed and denied globs that attributes tell."""
    if "cwd" not in attributes and "allow" not in attributes and "deny" not in attributes:
        return UNTOLD
    cwd = attributes.get("cwd")
    whole = cwd.rstrip("/")[:300] if isinstance(cwd, str) and "\n" not in cwd else ""
    return whole, _globs(attributes.get("allow")), _globs(attributes.get("deny"))


def _globs(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        return ()
    found = (item for item in value[:MOST_GLOBS] if isinstance(item, str) and item)
    return tuple(item[:200] for item in found if "\n" not in item)


def with_told(text: str, record: Told) -> str:
    """What was told before, and what attributes tell now; who said it first is right.

    >>> with_told("cwd /a", ("/b", ("src/**",), ()))
    'cwd /a\\nallow src/**'
    """
    if record == UNTOLD:
        return text
    known = read_told(text)
    lines = [f"cwd {record[0]}"] if record[0] and not known[0] else []
    for place, kind in ((1, "allow"), (2, "deny")):
        if not known[place]:
            lines += [f"{kind} {item}" for item in record[place]]
    # These stand first, so that no number of paths in a message can push them out.
    before = text.split("\n") if text else []
    explicit = [line for line in before if line.startswith(EXPLICIT)]
    return _bounded([*explicit, *lines, *(line for line in before if not line.startswith(EXPLICIT))])


def _bounded(lines: list[str]) -> str:
    """The lines that fit, so that a state stays small whatever letters they are written in."""
    room, kept = MOST_BYTES, []
    for line in lines[:MOST_LINES]:
        room -= 2 + len(line.encode("ascii", "backslashreplace"))
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


@lru_cache(maxsize=64)
def read_told(text: str) -> Told:
    """What a text says that was told by attributes."""
    cwd, allow, deny = _of_kinds(text, ("cwd", "allow", "deny"))
    return (cwd[0] if cwd else ""), allow, deny


@lru_cache(maxsize=64)
def read_asked(text: str) -> Asked:
    """What a text says that was asked by persons."""
    named, shown, only, barred = _of_kinds(text, ("named", "shown", "only", "barred"))
    return named, shown, only, barred


def _of_kinds(text: str, kinds: tuple[str, ...]) -> list[tuple[str, ...]]:
    pairs = [line.partition(" ") for line in text.split("\n")]
    return [tuple(path for kind, _, path in pairs if kind == wanted and path) for wanted in kinds]


def placed(cwd: str, path: str) -> str:
    """A path as seen from the working directory; one on a Windows drive is whole by itself.

    >>> placed("/w", "a/../b"), placed("C:/w", "C:/x/a.cs"), placed("", "./a")
    ('/w/b', 'C:/x/a.cs', 'a')
    """
    return joined("" if _on_drive(path) else cwd, path.replace("\\", "/"))


def _on_drive(path: str) -> bool:
    return path[1:3] in (":/", ":\\") and path[0].isalpha()


def is_far(path: str) -> bool:
    """Whether a path leads out of where it is seen from: it is absolute, or climbs.

    >>> [is_far(one) for one in ("/a", "~/b", "../c", "C:/d", "e/f", "..g")]
    [True, True, True, True, False, False]
    """
    return path.startswith(("/", "~", "../")) or path == ".." or _on_drive(path)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def fits(path: str, text: str, cwd: str, *, loose: bool) -> bool:
    """Whether a path is what a person named, or below it.

    A name without a slash is one at any depth of the project, and `*.md` an ending. `loose`: so is a path
    such as a/b.py, which persons often write from the middle of the tree.

    >>> [fits(one, "src/a.py", "/w", loose=False) for one in ("/w/src/a.py", "/w/x/src/a.py", "/x/src/a.py")]
    [True, False, False]
    >>> fits("/w/x/src/a.py", "src/a.py", "/w", loose=True), fits("/x/.env", ".env", "/w", loose=True)
    (True, False)
    """
    wanted = text.rstrip("/")
    if is_far(wanted):
        return is_below(path, placed(cwd, wanted))
    inside = _inside(path, cwd)
    if not inside:
        return False
    if "/" not in wanted:
        return inside.endswith(wanted[1:]) if wanted[:1] == "*" else wanted in inside.split("/")
    if is_below(inside, wanted):
        return True
    return (loose or inside.startswith("/")) and f"/{wanted}/" in f"/{inside}/"


def _inside(path: str, cwd: str) -> str:
    """The part of a path inside the project; '' where it is outside. Of a project nobody knows: the path."""
    if cwd and is_below(path, cwd):
        return path[len(cwd) :].lstrip("/") or "."
    if not is_far(path):
        return path
    return "" if cwd or not path.startswith("/") or path.startswith(SYSTEM) else path


def is_asked_for(path: str, changes: bool, request: Asked, cwd: str) -> bool:
    """Whether a person named this path, which is critical, by its own name or that of its critical folder."""
    named, barred = request[0], request[3]
    if changes and any(fits(path, item, cwd, loose=False) for item in barred):
        return False
    return any(
        _is_meant(item, changes) and fits(path, item, cwd, loose=True) for item in named if _same(path, item)
    )


def _same(path: str, text: str) -> bool:
    """Whether the last part of what was told is in the path: a wide folder stands for no file in it."""
    last = text.rstrip("/").rpartition("/")[2]
    return path.endswith(f"/{last}") or path == last or f"/{last}/" in f"/{path}"


def _is_meant(text: str, changes: bool) -> bool:
    bare = text.rstrip("/")
    wide = bare.startswith("/") and bare.count("/") < 2
    return not wide and (is_critical(bare, changes) or is_critical(f"{bare}/x", changes))


def root_of(path: str) -> str:
    """The folder at the top that a path is in, or a person's project below it: about where the work is.

    >>> root_of("/workspace/a/b.py"), root_of("/home/ann/project/a.py"), root_of("../other/a.py")
    ('/workspace', '/home/ann/project', '../other')
    """
    parts = path.split("/")
    return "/".join(parts[: 4 if parts[1:2] and parts[1] in SHARED else 2])


def covers(text: str, path: str, cwd: str) -> bool:
    """Whether a path is where a person said that the work is: below what they named, or in the same project.

    >>> covers("/srv/app/web/a.ts", "/srv/app/web/b.ts", ""), covers("/etc/hosts", "/etc/fstab", "")
    (True, False)
    """
    whole = placed(cwd, text)
    if not is_far(whole):
        return False
    top = whole.split("/")[1:2]
    if is_below(path, whole):
        return whole.count("/") > 1 or top[0] not in WORLD
    narrow = whole.startswith("/") and top[0] in WORLD - SHARED
    return not narrow and whole.count("/") > 1 and root_of(path) == root_of(whole)


# told_paths: what a run was told about paths, for the signals that judge where its agents work.

MOST_ACTORS = 16

State = tuple[str, tuple[str, ...]]
"""What was told so far, one path a line; marks of those who called a tool."""
START: State = ("", ())


@signal("told_paths", range=None, kinds=("action", "result", "message"))
class ToldPaths:
    """What a run was told about paths, one a line: `named .env`, `barred tests/`, `cwd /app`; else absent.

    Read at its steps, from the attributes `cwd`, `allow` and `deny` of any event before, from the messages of
    persons, the attributes `task` and `goal` and the setting `goal`; never from what a tool or an agent says.
    Whoever has called a tool in the thread is no person: a sub-agent is told what to do by an agent.
    """

    scope = "thread"
    start: State = START
    max_state_bytes = 48_000

    def measure(self, event: Event, state: State, options: Options) -> tuple[str | None, State]:
        """What is told by now, and who has acted."""
        record, actors = state
        if event.kind != "result":
            record = with_told(record, told_by(event.attributes))
            if options.inference_enabled:
                record = _with_words(record, event, actors)
        if event.kind == "message":
            return None, state if record == state[0] else (record, actors)
        if event.kind == "action" and len(actors) < MOST_ACTORS:
            own = mark(event.subject)
            actors = actors if own in actors else (*actors, own)
        text = record
        if options.goal and options.inference_enabled:
            text = with_wishes(record, _wishes(options.goal))
        return text or None, state if (record, actors) == state else (record, actors)


def _with_words(record: str, event: Event, actors: tuple[str, ...]) -> str:
    attributes = event.attributes
    for text in (attributes.get("task"), attributes.get("goal")):
        if isinstance(text, str) and text.strip():
            record = with_wishes(record, _wishes(text))
    if event.kind == "message" and event.text and _is_person(event, actors):
        record = with_wishes(record, _wishes(event.text))
    return record


def _is_person(event: Event, actors: tuple[str, ...]) -> bool:
    attributes = event.attributes
    return (
        attributes.get("role") == "user"
        and not attributes.get("parent")
        and mark(event.subject) not in actors
    )


@lru_cache(maxsize=16)
def _wishes(text: str) -> tuple[Wish, ...]:
    return wishes(text)
