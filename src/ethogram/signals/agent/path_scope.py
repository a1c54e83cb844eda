"""Scope: which paths a task allows, and which nobody should touch unasked."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from ...models.lazy_regex import Rule

TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/")
SYSTEM = (
    "/usr/",
    "/lib",
    "/opt/",
    "/proc/",
    "/sys/",
    "/bin/",
    "/sbin/",
    "/etc/",
    "/var/lib/",
    "/snap/",
    "/nix/",
    "/Library/",
    "/System/",
)
"""Where programs and their libraries are; to read there is part of any work."""

_SECRET = Rule(
    r"(?:^|/)\.env(?:\.(?!example|sample|template|dist|test|ci|default)[\w-]+)?$"
    r"|(?:^|/)\.?secrets?/(?!.*\.(?:py|go|java|ts|tsx|js|jsx|rs|c|h|cpp|rb|php|cs|kt|swift|scala|md|rst|html)$)"
    r"|(?:^|/)config/secrets?(?:[./]|$)|(?:^|/)(?:secrets?|credentials)\.(?:ya?ml|json|toml|txt|ini|env)$"
    r"|^(?:/etc/(?:passwd|shadow|gshadow|sudoers|ssh/|ssl/private)|/(?:root)/\.|/proc/(?:\d+|self)/environ)"
    r"|(?:^|/)\.(?:ssh|gnupg|aws|azure)/|(?:^|/)\.(?:netrc|pgpass|npmrc|pypirc|git-credentials|bash_history|zsh_history)$"
    r"|(?:^|/)\.kube/config$|(?:^|/)\.docker/config\.json$|(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)$|(?:^|/)\.git/(?:config|hooks/|objects/|refs/)"
)
_KEY = Rule(r"\.(?:pem|key|p12|pfx|jks|keystore)$")
_MADE_UP = Rule(
    r"(?:^|/)(?:tests?|testing|testdata|test_data|fixtures?|examples?|samples?|docs?|src/test|e2e|spec|mocks?)(?:/|$)"
)
_CHANGED_ONLY = Rule(
    r"(?:^|/)\.git/|(?:^|/)node_modules/|^/etc/|^/boot/|^/s?bin/|(?:^|/)\.(?:bashrc|zshrc|profile|bash_profile)$"
)


MOST_GLOB = 300
_GUARDED = Rule(
    r"(?:^|/)(?:\.?ethogram|ethogram\.(?:learned|mutes))\.yaml$|(?:^|/)\.claude(?:/(?!(?:plans|todos)/)|$)"
    r"|(?:^|/)(?:\.config|\.local/state)/ethogram(?:/|$)",
    re.IGNORECASE,
)


def is_guarded(path: str) -> bool:
    """Whether a path is one of ours or of the agent's settings: whoever changes it changes what is watched.

    What an agent notes for itself under .claude (plans, todos) is not.

    >>> [is_guarded(path) for path in ("a/.ethogram.yaml", ".claude/settings.json", "ethogram.md")]
    [True, True, False]
    """
    return _GUARDED.search(path) is not None


def is_critical(path: str, changes: bool) -> bool:
    """Whether a path is one nobody should touch unasked; some may be read but not changed.

    >>> [is_critical(one, False) for one in (".env", ".env.example", "/etc/passwd", "/etc/hosts")]
    [True, False, True, False]
    >>> is_critical("/etc/hosts", True), is_critical("tests/a.pem", False), is_critical("deploy/a.pem", False)
    (True, False, True)
    """
    if _may_be_secret(path) and _SECRET.search(path):
        return True
    if changes and (_CHANGED_ONLY.search(path) or is_guarded(path)):
        return True
    return _KEY.search(path) is not None and _MADE_UP.search(path) is None


def _may_be_secret(path: str) -> bool:
    """Whether a path has what every path that `_SECRET` finds has; quicker to see."""
    return (
        path.startswith((".", "/etc/", "/proc/"))
        or "/." in path
        or "secret" in path
        or "credentials" in path
        or "id_" in path
    )


def is_harmless(path: str, changes: bool) -> bool:
    """Whether any work may touch a path: temporary files, and the system's for reading.

    >>> is_harmless("/tmp/x", True), is_harmless("/usr/lib/a.h", False), is_harmless("/usr/lib/a.h", True)
    (True, True, False)
    >>> is_harmless("C:/Windows/win.ini", False), is_harmless("C:/Windows/win.ini", True)
    (True, False)
    """
    if f"{path}/".startswith(TEMPORARY):
        return True
    if path[1:3] == ":/":
        of_windows = path[2:].startswith(("/Windows/", "/Program Files")) and not changes
        return of_windows or "/AppData/Local/Temp/" in path
    at_top = path.count("/") < 2 and path.startswith("/")
    of_system = at_top or path.startswith(SYSTEM) or "site-packages/" in path or "/.cache/" in path
    return of_system and not changes


def matches(path: str, globs: tuple[str, ...], cwd: str = "") -> bool:
    """Whether a path, or a folder it is in, is among these globs.

    `*` is anything but a slash and `**` anything. A glob without a slash is about a name at any depth; one
    that does not begin with a slash is meant from the working directory.

    >>> matches("src/a/b.py", ("src",)), matches("src/b.py", ("src/*.py",)), matches("a/x.log", ("*.log",))
    (True, True, True)
    >>> matches("/w/src/b.py", ("src/**",), "/w"), matches("lib/b", ("src/**",)), matches("srcs/a", ("src",))
    (True, False, False)
    >>> matches("./src/../deploy/a", ("deploy/**",)), matches("src/../deploy/a", ("src/**",))
    (True, False)
    """
    if "/." in path or path.startswith("."):
        path = posixpath.normpath(path)
    inside = path[len(cwd) + 1 :] if cwd and path.startswith(f"{cwd}/") else path
    return any(_fits(path if glob.startswith(("/", "~")) else inside, glob[:MOST_GLOB]) for glob in globs)


@lru_cache(maxsize=4096)
def _fits(path: str, glob: str) -> bool:
    """Whether a path fits a glob, in time that grows with their lengths alone: globs come with events, too.

    Every bit of `at` is a place in the glob that can be reached by what was read of the path so far.
    """
    tokens, skips = _tokens(glob)
    at = _skipped(1, skips)
    for char in path:
        moved = 0
        for place, token in enumerate(tokens):
            if at >> place & 1:
                if token == "**" or (token == "*" and char != "/"):
                    moved |= 1 << place
                elif token == char or (token == "?" and char != "/"):
                    moved |= 1 << (place + 1)
        at = _skipped(moved, skips)
        if not at:
            return False
    return bool(at >> len(tokens) & 1)


def _skipped(at: int, skips: tuple[tuple[int, int], ...]) -> int:
    """The places that can also be reached by leaving out what may be empty."""
    for place, over in skips:
        if at >> place & 1:
            at |= 1 << (place + over)
    return at


@lru_cache(maxsize=256)
def _tokens(glob: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The signs of a glob, and from where how many of them may be left out."""
    bare = re.sub(r"\*{3,}", "**", glob).removeprefix("./").rstrip("/")
    # A name alone may stand at any depth, and what is meant may be the folder a path is in.
    whole = f"{'' if '/' in bare else '**/'}{bare}"
    tokens: list[str] = []
    skips: list[tuple[int, int]] = []
    for part in [*re.findall(r"\*\*/|/\*\*$|\*\*|.", whole, re.DOTALL), "/**"]:
        place = len(tokens)
        if part == "**/":
            # The empty sign is where it begins: once `**` has read something, its slash must follow.
            tokens += ["", "**", "/"]
            skips += [(place, 3), (place, 1), (place + 1, 1)]
        elif part == "/**":
            tokens += ["/", "**"]
            skips += [(place, 2), (place + 1, 1)]
        else:
            tokens.append(part)
            skips += [(place, 1)] if part[0] == "*" else []
    return tuple(tokens), tuple(skips)
