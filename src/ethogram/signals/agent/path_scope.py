"""Path scope: globs, critical and harmless paths, where paths lie and what belongs to a project."""

from __future__ import annotations

import posixpath
import re
from functools import lru_cache

from ...models.lazy_regex import Rule
from .normalization import short_hash
from .operations import operation_of
from .paths import joined
from .shell_parser import SimpleCommand, simple_commands
from .step import Step, words

MAX_GLOB = 300
TEMPORARY = ("/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/dev/")
SYSTEM = tuple(
    words("/usr/ /lib /opt/ /proc/ /sys/ /bin/ /sbin/ /etc/ /var/lib/ /snap/ /nix/ /Library/ /System/")
)
"""Programs and their libraries; any task may read them."""
FOREIGN = ("/etc/", "/var/log/", "/var/spool/", "/boot/", "/proc/", "/sys/", "/run/")
"""What belongs to the system and is never a project, however early a run works there."""
SHARED = words("home Users root mnt srv data")
"""Top folders that hold the projects of several people."""
WORLD = SHARED | words(
    "etc usr lib lib64 opt proc sys bin sbin var boot dev tmp snap nix Library System private"
)
"""Top folders that are too wide to be what a task is about."""

_SECRET = Rule(
    r"(?:^|/)\.env(?:\.(?!example|sample|template|dist|test|ci|default)[\w-]+)?$"
    r"|(?:^|/)\.?secrets?/(?!.*\.(?:py|go|java|ts|tsx|js|jsx|rs|c|h|cpp|rb|php|cs|kt|swift|scala|md|rst|html)$)"
    r"|(?:^|/)config/secrets?(?:[./]|$)|(?:^|/)(?:secrets?|credentials)\.(?:ya?ml|json|toml|txt|ini|env)$"
    r"|^(?:/etc/(?:passwd|shadow|gshadow|sudoers|ssh/|ssl/private)|/(?:root)/\.|/proc/(?:\d+|self)/environ)"
    r"|(?:^|/)\.(?:ssh|gnupg|aws|azure)/|(?:^|/)\.(?:netrc|pgpass|npmrc|pypirc|git-credentials|bash_history|zsh_history)$"
    r"|(?:^|/)\.kube/config$|(?:^|/)\.docker/config\.json$|(?:^|/)id_(?:rsa|dsa|ecdsa|ed25519)$|(?:^|/)\.git/(?:config|hooks/|objects/|refs/)"
)
_KEY = Rule(r"\.(?:pem|key|p12|pfx|jks|keystore)$")
_TEST_DATA = Rule(
    r"(?:^|/)(?:tests?|testing|testdata|test_data|fixtures?|examples?|samples?|docs?|src/test|e2e|spec|mocks?)(?:/|$)"
)
_READ_ONLY = Rule(
    r"(?:^|/)\.git/|(?:^|/)node_modules/|^/etc/|^/boot/|^/s?bin/|(?:^|/)\.(?:bashrc|zshrc|profile|bash_profile)$"
)
_SETTINGS = Rule(
    r"(?:^|/)(?:\.?ethogram|ethogram\.(?:learned|mutes))\.yaml$|(?:^|/)\.claude(?:/(?!(?:plans|todos)/)|$)"
    r"|(?:^|/)(?:\.config|\.local/state)/ethogram(?:/|$)",
    re.IGNORECASE,
)


def is_guarded(path: str) -> bool:
    """Return whether a path holds settings of ethogram or of the agent, which decide what is monitored.

    An agent's own notes under .claude (plans, todos) do not count.

    >>> [is_guarded(path) for path in ("a/.ethogram.yaml", ".claude/settings.json", "ethogram.md")]
    [True, True, False]
    """
    return _SETTINGS.search(path) is not None


@lru_cache(maxsize=4096)  # a run works on the same few
def is_critical(path: str, changes: bool) -> bool:
    """Return whether nobody should touch a path unasked; some paths may be read but not changed.

    >>> [is_critical(path, False) for path in (".env", ".env.example", "/etc/passwd", "/etc/hosts")]
    [True, False, True, False]
    >>> is_critical("/etc/hosts", True), is_critical("tests/a.pem", False), is_critical("deploy/a.pem", False)
    (True, False, True)
    """
    if _may_be_secret(path) and _SECRET.search(path):
        return True
    if changes and (_READ_ONLY.search(path) or is_guarded(path)):
        return True
    return _KEY.search(path) is not None and _TEST_DATA.search(path) is None


def _may_be_secret(path: str) -> bool:
    """A fast test that every path which `_SECRET` matches passes."""
    if path.startswith((".", "/etc/", "/proc/")) or "/." in path:
        return True
    return "secret" in path or "credentials" in path or "id_" in path


def is_harmless(path: str, changes: bool) -> bool:
    """Return whether any task may touch a path: temporary files, and system files for reading.

    >>> is_harmless("/tmp/x", True), is_harmless("/usr/lib/a.h", False), is_harmless("/usr/lib/a.h", True)
    (True, True, False)
    >>> is_harmless("C:/Windows/win.ini", False), is_harmless("C:/Windows/win.ini", True)
    (True, False)
    """
    if f"{path}/".startswith(TEMPORARY):
        return True
    if path[1:3] == ":/":
        is_system = path[2:].startswith(("/Windows/", "/Program Files")) and not changes
        return is_system or "/AppData/Local/Temp/" in path
    is_top = path.count("/") < 2 and path.startswith("/")
    is_system = is_top or path.startswith(SYSTEM) or "site-packages/" in path or "/.cache/" in path
    return is_system and not changes


def matches(path: str, globs: tuple[str, ...], cwd: str = "") -> bool:
    """Return whether a path, or a folder it is in, matches one of the globs.

    `*` matches anything but a slash and `**` anything. A glob without a slash matches a name at any depth;
    one that does not begin with a slash is relative to the working directory.

    >>> matches("src/a/b.py", ("src",)), matches("src/b.py", ("src/*.py",)), matches("a/x.log", ("*.log",))
    (True, True, True)
    >>> matches("/w/src/b.py", ("src/**",), "/w"), matches("lib/b", ("src/**",)), matches("srcs/a", ("src",))
    (True, False, False)
    >>> matches("./src/../deploy/a", ("deploy/**",)), matches("src/../deploy/a", ("src/**",))
    (True, False)
    """
    if "/." in path or path.startswith("."):
        path = posixpath.normpath(path)
    inside = path.removeprefix(f"{cwd}/") if cwd else path
    return any(_matches(path if glob.startswith(("/", "~")) else inside, glob[:MAX_GLOB]) for glob in globs)


@lru_cache(maxsize=4096)
def _matches(path: str, glob: str) -> bool:
    """Match in time proportional to both lengths, since globs also come with events.

    Each bit of `states` is a position in the glob that the path read so far can reach.
    """
    tokens, skips = _tokens(glob)
    states = _with_skips(1, skips)
    for char in path:
        reached = 0
        for place, token in enumerate(tokens):
            if states >> place & 1:
                if token == "**" or (token == "*" and char != "/"):
                    reached |= 1 << place
                elif token == char or (token == "?" and char != "/"):
                    reached |= 1 << (place + 1)
        states = _with_skips(reached, skips)
        if not states:
            return False
    return bool(states >> len(tokens) & 1)


def _with_skips(states: int, skips: tuple[tuple[int, int], ...]) -> int:
    """Add the positions that are reached by skipping tokens that may be empty."""
    for place, count in skips:
        if states >> place & 1:
            states |= 1 << (place + count)
    return states


@lru_cache(maxsize=256)
def _tokens(glob: str) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    """The tokens of a glob, and from which position how many of them may be skipped."""
    bare = re.sub(r"\*{3,}", "**", glob).removeprefix("./").rstrip("/")
    # A bare name may be at any depth, and a glob also matches everything in a folder it matches.
    whole = f"{'' if '/' in bare else '**/'}{bare}"
    tokens: list[str] = []
    skips: list[tuple[int, int]] = []
    for part in [*re.findall(r"\*\*/|/\*\*$|\*\*|.", whole, re.DOTALL), "/**"]:
        place = len(tokens)
        if part == "**/":
            # The empty token marks the start: once `**` has matched something, its slash must follow.
            tokens += ["", "**", "/"]
            skips += [(place, 3), (place, 1), (place + 1, 1)]
        elif part == "/**":
            tokens += ["/", "**"]
            skips += [(place, 2), (place + 1, 1)]
        else:
            tokens.append(part)
            skips += [(place, 1)] if part[0] == "*" else []
    return tuple(tokens), tuple(skips)


@lru_cache(maxsize=1024)
def resolve(cwd: str, path: str) -> str:
    """Return a path relative to the working directory; one on a Windows drive is absolute.

    >>> resolve("/w", "a/../b"), resolve("C:/w", "C:/x/a.cs"), resolve("", "./a")
    ('/w/b', 'C:/x/a.cs', 'a')
    """
    return joined("" if _on_drive(path) else cwd, path.replace("\\", "/"))


def _on_drive(path: str) -> bool:
    return path[1:3] in (":/", ":\\") and path[0].isalpha()


def leads_outside(path: str) -> bool:
    """Return whether a path leads out of the folder it is relative to: it is absolute or goes up.

    >>> [leads_outside(path) for path in ("/a", "~/b", "../c", "C:/d", "e/f", "..g")]
    [True, True, True, True, False, False]
    """
    return path.startswith(("/", "~", "../")) or path == ".." or _on_drive(path)


def is_below(path: str, folder: str) -> bool:
    """Return whether a path is a folder or in it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def root_of(path: str) -> str:
    """Return the top folder of a path, or the project below a shared one.

    >>> root_of("/workspace/a/b.py"), root_of("/home/ann/project/a.py"), root_of("../other/a.py")
    ('/workspace', '/home/ann/project', '../other')
    """
    parts = path.split("/")
    return "/".join(parts[: 4 if parts[1:2] and parts[1] in SHARED else 2])


# Project files: learned from listings and imports that a run has shown, stored as short hashes of the path
# without its ending. Results are untrusted: they can widen the scope only where the step itself was in scope,
# and never make a critical path less so.

MAX_FILES = 160
MAX_LINES = 300
MAX_IMPORTS = 60
MAX_DEPTH = 12
LISTERS = words("ls find fd tree pwd")
FILTERS = words("cd head tail sort uniq")
LIST_TOOLS = words(
    "ls glob list list_files list_dir list_directory find_file find_files file_glob glob_files tree"
)
READ, ANY = "r", "w"
"""Prefixes of the hashes: imports may be read, listed files also changed."""

_PYTHON_IMPORT = Rule(r"^[ \t\d:|>→]{0,16}from[ \t]+(\.{1,6})([\w.]{1,100})[ \t]+import\b", re.MULTILINE)
_QUOTED_IMPORT = Rule(
    r"(?:from|require\(|import\(?|@import|#include)\s{0,4}['\"](\.{1,2}/[\w./@+-]{1,150})['\"]"
)
_LINKED_FILE = Rule(r"(?:file:|link:|=>\s{0,4}|path[\"']?\s{0,4}[=:]\s{0,4}[\"'])(\.\./[\w./@+-]{1,150})")
_QUOTED_ENDINGS = words("ts tsx js jsx mjs cjs vue svelte css scss c h cc cpp hpp")


def learn_files(step: Step, paths: tuple[str, ...], cwd: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the hashes known after a step on these paths, all of them in scope; the newest 160."""
    if not step.result or step.reports_failure:
        return known
    if _is_listing(step):
        files = [(ANY, path) for path in _listed(step.result)]
    elif len(paths) == 1 and operation_of(step) == "read":
        files = [(READ, resolve(cwd, path)) for path in _imported(step.result, paths[0])]
    else:
        return known
    hashes = (
        prefix + _file_hash(path) for prefix, path in files if leads_outside(path) and _may_be_known(path)
    )
    new = [item for item in dict.fromkeys(hashes) if item not in known]
    return (*known, *new[:MAX_FILES])[-MAX_FILES:] if new else known


def is_known(path: str, changes: bool, known: tuple[str, ...]) -> bool:
    """Return whether a path, or a folder it is in, was listed or (for reading) imported."""
    for _ in range(MAX_DEPTH):
        hashed = _file_hash(path)
        if ANY + hashed in known or (not changes and READ + hashed in known):
            return True
        above = posixpath.dirname(path)
        if above in (path, "", "/", "~", ".."):
            return False
        path = above
    return False


def _file_hash(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return short_hash(f"{folder}/{name.partition('.')[0] or name}")


def _is_listing(step: Step) -> bool:
    """Whether a step can print only file names: a search prints text, which anybody may have written."""
    if not step.command:
        return step.tool.lower() in LIST_TOOLS
    commands = simple_commands(step.command)
    lists = any(_lists(command) for command in commands)
    return lists and all(_lists(command) or command.program in FILTERS for command in commands)


def _lists(command: SimpleCommand) -> bool:
    if command.program == "git":
        return command.words[:1] in (("ls-files",), ("rev-parse",), ("worktree",))
    acts = any(word.startswith(("-exec", "-ok", "-x", "--exec", "-fprint")) for word in command.words)
    return command.program in LISTERS and not acts


def _may_be_known(path: str) -> bool:
    """Whether a path is not critical, not the system's, and not so wide that it contains everything."""
    bare = path.rstrip("/")
    if bare.count("/") < 2 and (bare.rpartition("/")[2] in WORLD or bare in ("", "~", "..")):
        return False
    is_up = set(bare.split("/")) <= {".."}
    return not is_up and not is_critical(bare, True) and not is_harmless(bare, False)


def _listed(result: str) -> list[str]:
    """Absolute paths in a listing: on a line of their own, or the target of a link."""
    paths = []
    for line in result.split("\n", MAX_LINES)[:MAX_LINES]:
        path = line.rpartition(" -> ")[2].strip().rstrip(":")
        if path.startswith("/") and " " not in path and len(path) <= 200:
            paths.append(posixpath.normpath(path))
    return paths


def _imported(result: str, path: str) -> list[str]:
    """What a file imports by relative paths, relative to the file."""
    text, ending = result[:12_000], path.rpartition(".")[2]
    if ending in ("py", "pyi"):
        if " ." not in text and "\t." not in text:  # as mostly, and much faster to find
            return []
        names = [
            f"{'../' * (len(dots) - 1)}{name.replace('.', '/')}"
            for dots, name in _PYTHON_IMPORT.findall(text)
        ]
    elif ending in _QUOTED_ENDINGS:
        names = _QUOTED_IMPORT.findall(text)
    elif ending in ("json", "mod", "toml"):
        names = _LINKED_FILE.findall(text)
    else:
        return []
    folder = posixpath.dirname(path) or "."
    return [posixpath.normpath(f"{folder}/{name}".rstrip("/")) for name in names[:MAX_IMPORTS]]
