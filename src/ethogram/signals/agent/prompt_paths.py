"""Prompt paths: what a user's message says about paths, read sentence by sentence.

Pasted logs, stack traces, quoted text and code blocks are shown, not said: they request nothing.
"""

from __future__ import annotations

from functools import lru_cache

from ...models.lazy_regex import Rule
from .path_scope import is_critical
from .step import words

MAX_TEXT = 8_000
MAX_TEXT_LINES = 400
MAX_PATH = 160
MAX_RULES = 40
"""Rules read from one message."""

PathRule = tuple[str, str]
"""`named`, `shown`, `only` or `barred`, and the path."""

EXTENSIONS = words(
    "py pyi js jsx ts tsx mjs cjs go rs java kt scala c h cc cpp hpp cs rb php swift sh bash zsh sql html "
    "css scss vue svelte md rst txt json jsonl yaml yml toml ini cfg conf env lock xml csv tsv proto gradle "
    "pem key crt log ipynb r jl lua pl ex exs erl hs ml tf hcl dockerfile parquet properties"
)
"""File endings by which a name without a folder is taken for a file."""
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
CONJUNCTIONS = words("and or nor & plus")
FOLDER_WORDS = words("folder directory dir package module tree subtree")
ENDINGS = words("please because since as so either at - – — ( thanks")
"""Words after the last path that do not change the restriction."""
NEXT_EXCLUSION = words("nothing not don't do leave")
NEXT = NEXT_EXCLUSION | words("in run make keep fix add use just then only")
"""How another request begins."""
EXCEPTIONS = words("outside except but beyond besides")
LEAD_INS = words("please and but also so then you just ever to only strictly again - * •")
MODALS = words("should must may can could")
"""A request only after `you`: what a program could do is none."""
LABELS = words(
    "note important rules rule constraints constraint remember nb attention scope careful warning caution"
)

_TAG = Rule(r"<([A-Za-z][\w-]{0,40})(?: [^<>]{0,200})?>")
_TRACE = Rule(
    r"File \"|at [\w$.<>/]+ ?\(|Traceback \(|(?:[\w.]{0,80}(?:Error|Exception|Warning)\b:?)"
    r"|\[?(?:INFO|ERROR|DEBUG|WARN|WARNING|TRACE|FATAL)\b[\]:]?|\d{4}-\d\d-\d\d[ T]\d\d:|#\d+ "
    r"|(?:[\w.\\/-]|[A-Za-z]:\\){1,200}:\d{1,6}(?::\d{1,6})?:"
    r"|(?:ba|z)?sh: |(?:cat|ls|cp|mv|rm|grep|cd|find): "
)
_LINE_SUFFIX = Rule(r"[`'\"]?:\d{1,6}(?:[:-]\d{1,6})?$|#L\d{1,6}$")
_DRIVE = Rule(r"[A-Za-z]:[\\/]")
_PATH_FORM = Rule(r"\.{0,2}[\w~/*][\w.~@+%/*-]*")
_SENTENCE_END = Rule(r"(?<=[.!?;])[\"')]?\s+")
_QUOTATION = Rule(r"\"[^\"]{0,1000}\"|“[^”]{0,1000}”|«[^»]{0,1000}»")
_BAR = Rule(
    r"\b(?:do not|don't|dont|never|must not|mustn't|should not|shouldn't|may not)\s+(?:ever\s+)?"
    r"(?:touch|change|edit|modify|delete|remove|alter|overwrite|rename|write to)\b:?\s+"
)
_ONLY = Rule(
    r"\bonly\s+(?:ever\s+)?(?:change|touch|edit|modify|alter|work (?:in|on|inside|within)"
    r"|write (?:to|in))\s+"
    r"|\b(?:change|touch|edit|modify|work|write)\s+only(?:\s+(?:in|on|to|inside|within))?\s+"
)
_NAME = Rule(r"[A-Za-z_][\w.-]{0,60}")


def split_own_words(text: str) -> tuple[list[str], list[str]]:
    """Return the lines a user wrote, and those only shown: fenced, quoted, between tags, or of a trace.

    >>> split_own_words("Fix it.\\n> do not touch a.py\\n  File \\"/a.py\\", line 3\\n```\\ncat b.py\\n```")
    (['Fix it.'], ['> do not touch a.py', '  File "/a.py", line 3', 'cat b.py'])
    """
    own: list[str] = []
    shown: list[str] = []
    closing = ""
    # The last line may be cut in the middle of a name.
    lines = text[:MAX_TEXT].splitlines()[: -1 if len(text) > MAX_TEXT else None][:MAX_TEXT_LINES]
    for place, line in enumerate(lines):
        bare = line.strip()
        if closing:
            if bare.startswith(closing):
                closing = ""
            else:
                shown.append(line)
        elif bare.startswith(("```", "~~~")):
            closing = bare[:3]
        elif tag := _TAG.match(bare):
            end = f"</{tag[1]}"
            if any(later.strip().startswith(end) for later in lines[place + 1 :]):
                closing = end
            shown.append(line)
        else:
            (shown if _is_shown(line, bare) else own).append(line)
    return own, shown


def _is_shown(line: str, bare: str) -> bool:
    indented = line.startswith(("    ", "\t")) and not bare.startswith(("-", "*", "+"))
    return indented or bare.startswith((">", "$ ", ">>> ", "+++", "---", "@@")) or bool(_TRACE.match(bare))


def path_in_prompt(word: str) -> str:
    """Return the path that a word of a message is; '' where it is none or ambiguous.

    >>> words = ("`src/a.py`:12,", "and/or", "C:\\\\app\\\\x.cs", "http://a/b.py", "v1.2")
    >>> [path_in_prompt(word) for word in words]
    ['src/a.py', '', 'C:/app/x.cs', '', '']
    """
    # Most words are none, and this is the fastest test.
    if "/" not in word and "." not in word and "\\" not in word and "id_" not in word:
        return ""
    is_quoted = word.startswith(("`", "'", '"', "“")) and len(word) > 2
    bare = word.strip("`'\"“”‘’()[]<>{},;!?").rstrip(".:")
    bare = bare[2:-2] if bare.startswith("**") and bare.endswith("**") else bare
    bare = _LINE_SUFFIX.sub("", bare.strip("`'\"“”‘’()[]<>,;")).rstrip(".:")
    if not bare or len(bare) > MAX_PATH or "://" in bare or bare.startswith(("www.", "@", "-", "//")):
        return ""
    on_drive = bool(_DRIVE.match(bare))
    bare = bare.replace("\\", "/")
    for tail in ("/**/*", "/**", "/*"):
        bare = bare.removesuffix(tail[1:]) if bare.endswith(tail) else bare
    if bare[:2] in ("s/", "y/") and bare.count("/") == 3:
        return ""
    if not _PATH_FORM.fullmatch(bare[2:] if on_drive else bare) or set(bare) <= set("./~"):
        return ""
    return bare.removeprefix("./") if on_drive or _is_path(bare, is_quoted) else ""


def _is_path(bare: str, is_quoted: bool) -> bool:
    name = bare.rstrip("/").rpartition("/")[2]
    ending = name.rpartition(".")[2].lower() if "." in name.strip(".") else ""
    if is_critical(bare, False) or (name[:1] == "." and name[1:2].isalpha()):
        return True
    if "/" not in bare:
        return ending in EXTENSIONS and name[0] != "."
    if bare[0] in "/~" or bare.startswith(("./", "../")) or bare.endswith("/") or ending[:1].isalpha():
        return True
    return (is_quoted or bare.count("/") > 1) and any(char.isalpha() for char in bare)


@lru_cache(maxsize=16)
def parse_path_rules(text: str) -> tuple[PathRule, ...]:
    """Return what a message says about paths, forty rules at most, in order.

    A path is named; or it may not be changed ("don't touch x"); or nothing else may ("only edit x"). A
    sentence with a condition, a report of somebody else's words, or an object that is not plainly a path
    restricts nothing.

    >>> parse_path_rules("Put the token into .env, but don't touch config/prod.yaml.")
    (('named', '.env'), ('barred', 'config/prod.yaml'))
    >>> parse_path_rules("Only edit `src/a.py` and src/b.py. See https://example.org/etc/passwd and/or 1/2.")
    (('only', 'src/a.py'), ('only', 'src/b.py'))
    """
    own, shown = split_own_words(text)
    rules = [
        rule for line in own for sentence in _SENTENCE_END.split(line) for rule in _in_sentence(sentence)
    ]
    rules += [("shown", path) for line in shown for path in _paths(line.split())]
    return tuple(dict.fromkeys(rules))[:MAX_RULES]


def _in_sentence(sentence: str) -> list[PathRule]:
    # A quotation is somebody else's words, unless it is a single one: a name.
    sentence = _QUOTATION.sub(lambda match: match[0] if " " not in match[0].strip() else " ", sentence)
    if rules := _restriction(sentence):
        return rules
    parts = sentence.split()
    if not (paths := _paths(parts)):
        return []
    plain = {part.strip(",.:;!?()").lower().replace("’", "'") for part in parts}
    # A path in a negated or reporting sentence is not requested.
    kind = "shown" if plain & NEGATIVE or plain & REPORTING else "named"
    return [(kind, path) for path in paths]


def _restriction(sentence: str) -> list[PathRule]:
    """What a sentence plainly forbids, with the paths named before that."""
    lowered = sentence.lower().replace("’", "'")
    if len(lowered) != len(sentence):
        return []
    matches = [
        (match, kind) for rule, kind in ((_BAR, "barred"), (_ONLY, "only")) if (match := rule.search(lowered))
    ]
    if not matches:
        return []
    match, kind = min(matches, key=lambda pair: pair[0].start())
    if not _is_request(lowered[: match.start()]):
        return []
    paths, after, is_inverted = _objects(sentence[match.end() :].split())
    if is_inverted:
        kind = "only" if kind == "barred" else ""
    if not paths or not kind or not _ends(after, kind):
        return []
    before = [("named", path) for path in _paths(sentence[: match.start()].split())]
    return [*before, *((kind, path) for path in paths)]


def _is_request(before: str) -> bool:
    """Whether the words before a restriction leave it a request: no report, nobody else's habit.

    >>> [_is_request(text) for text in ("please ", "fix it, ", "we ", "the readme says, ", "note: ", "log: ")]
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
    if last in MODALS:
        return parts[-2:-1] == ["you"]
    goes_on = last.endswith((",", "(", "-", "–", "—")) or last.strip("*_") in LEAD_INS
    return goes_on or last.rstrip(".)").isdigit()


def _objects(rest: list[str]) -> tuple[list[str], list[str], bool]:
    """The paths at the start, the words after them, and whether all paths but these are meant."""
    paths: list[str] = []
    is_inverted = False
    place = end = 0
    while place < len(rest):
        word = rest[place].lower().strip(",.;:!?()")
        path = path_in_prompt(rest[place]) or _folder_name(rest, place)
        if path:
            paths.append(path)
        elif not paths and (
            word in EXCEPTIONS or (word == "other" and rest[place + 1 : place + 2] == ["than"])
        ):
            is_inverted = True
            place += word == "other"
        elif not (
            word in FILLERS or (is_inverted and word in ("for", "of")) or (paths and word in CONJUNCTIONS)
        ):
            break
        place += 1
        if path or (end and word in FOLDER_WORDS and end == place - 1):
            end = place
    return paths, rest[end:] if paths else rest, is_inverted


def _folder_name(rest: list[str], place: int) -> str:
    """A word that is a path only by the word after it, as in "the src folder"; else ''."""
    after = rest[place + 1].lower().strip(",.;:!?()") if place + 1 < len(rest) else ""
    name = rest[place].strip("`'\"“”,.")
    is_name = after in FOLDER_WORDS and name.lower() not in FILLERS | EXCEPTIONS | CONJUNCTIONS
    return name if is_name and _NAME.fullmatch(name) else ""


def _ends(after: list[str], kind: str) -> bool:
    """Whether the words after the last path change nothing.

    After `only` they must not go on to another object, which may be a further allowed place.
    """
    following = [part.lower().strip(",.;:!?").replace("’", "'") for part in after[:2]]
    if not following or not following[0] or following[0] in ENDINGS:
        return True
    if following[0] in CONJUNCTIONS or following[0] == "but":
        return len(following) > 1 and following[1] in (NEXT if kind == "barred" else NEXT_EXCLUSION)
    return kind == "barred" and following[0] in NEXT


def _paths(parts: list[str]) -> list[str]:
    return [path for part in parts if (path := path_in_prompt(part))]
