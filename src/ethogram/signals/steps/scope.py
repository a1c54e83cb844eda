"""Scope: which paths a task allows, and which nobody should touch unasked."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from ...records.rule import Rule

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
    return any(
        _compiled(one).match(path if one.startswith(("/", "~")) else inside) is not None for one in globs
    )


@lru_cache(maxsize=1024)
def _compiled(glob: str) -> re.Pattern[str]:
    bare = re.sub(r"\*{3,}", "**", glob[:300]).removeprefix("./").rstrip("/")
    start = "" if "/" in bare else "(?:.*/)?"
    parts = re.split(r"(\*\*/|/\*\*$|\*\*|\*|\?)", bare)
    put = {"**/": "(?:.*/)?", "/**": "(?:/.*)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        start + "".join(put.get(one, re.escape(one)) for one in parts) + r"(?:/.*)?\Z", re.DOTALL
    )
