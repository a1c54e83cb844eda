"""Paths in prompts: which words of a message are plainly paths. A URL, a fraction or and/or is none."""

from __future__ import annotations

import re
from functools import cache

from .scope import is_critical
from .words import words

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
    return (marked or bare.count("/") > 1) and any(one.isalpha() for one in bare)


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
