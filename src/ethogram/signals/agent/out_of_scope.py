"""The signals out_of_scope and critical_path: steps on paths outside the task or off limits."""

from __future__ import annotations

from ...models import Event
from ..base import signal
from ..options import Options
from .path_scope import (
    is_below,
    is_critical,
    is_guarded,
    is_harmless,
    leads_outside,
    matches,
    resolve,
    root_of,
)
from .paths import touched
from .project_files import is_known, learn_files
from .tool_calls import Call
from .user_paths import (
    UNDECLARED,
    DeclaredScope,
    UserPathRules,
    covers,
    declared_scope,
    is_named,
    is_requested,
    read_declared,
    read_rules,
)

EARLY = 10
"""Steps at the start of a run whose folders count as the project, unless it is declared."""
MAX_ROOTS = 16

ProjectView = tuple[tuple[str, ...], int, tuple[str, ...]]
"""The folders of early steps; how many steps had a path; hashes of what was listed and imported."""
State = tuple[DeclaredScope, ProjectView]
NOTHING: ProjectView = ((), 0, ())


@signal(
    "out_of_scope",
    range=(0, 1),
    version=2,
    kinds=("action", "result", "message"),
    needs=("told_paths",),
    reads=("attributes",),
    summarize=touched,
)
class OutOfScope:
    """1.0 where a step names a path outside what the task allows.

    Explicit scope comes first: the attributes `allow`, `deny` and `cwd` of the run's events, its own first,
    or the settings. Without it, users' words count: paths they name, and what they bar from being changed.
    Then the project as the run shows it: its working directory, folders of the first ten steps, files it
    listed, imports of files it read. Temporary files, and system files for reading, are always in scope.
    Absent where no path is named.
    """

    scope = "run"
    start: State = (UNDECLARED, NOTHING)
    max_state_bytes = 64_000

    def measure(
        self, event: Event, state: State, call: Call | None, options: Options
    ) -> tuple[float | None, State]:
        """Return whether a path is outside, and the new state."""
        before, view = state
        declared = _merge(before, declared_scope(event.attributes))
        step, named, _ = call or (None, (), "")
        if step is None:
            return None, state if declared is before else (declared, view)
        text = _mentioned_paths(event)
        own = _merge(_merge(declared, read_declared(text)), (options.cwd or "", options.allow, options.deny))
        cwd = own[0]
        paths = tuple((resolve(cwd, path), bool(changes)) for path, changes in named)
        if not options.inference_enabled:
            return _by_declared(paths, own), (declared, view)
        view, rules = _with_roots(paths, own, view), read_rules(text)
        outside = any(_is_outside(path, changes, own, rules, view) for path, changes in paths)
        in_project = not outside and all(_is_project(path, cwd, view, rules) for path, _ in paths)
        if step.is_outcome and in_project:
            files = learn_files(step, tuple(path for path, _ in paths), cwd, view[2])
            view = (*view[:2], files)
        return (float(outside) if paths else None), (declared, view)


def _mentioned_paths(event: Event) -> str:
    text = event.readings.get("told_paths")
    return text if isinstance(text, str) else ""


def _merge(scope: DeclaredScope, other: DeclaredScope) -> DeclaredScope:
    """The first scope, completed by the other."""
    if other == UNDECLARED:
        return scope
    return scope[0] or other[0], scope[1] or other[1], scope[2] or other[2]


def _by_declared(paths: tuple[tuple[str, bool], ...], scope: DeclaredScope) -> float | None:
    """Whether a path is outside the declared scope alone; None without a scope or a path."""
    cwd, allow, deny = scope
    if not paths or not any(scope):
        return None
    if allow or cwd:
        return float(
            any(_is_outside(path, changes, scope, UserPathRules(), NOTHING) for path, changes in paths)
        )
    return float(any(matches(path, deny, cwd) for path, _ in paths))


def _with_roots(paths: tuple[tuple[str, bool], ...], scope: DeclaredScope, view: ProjectView) -> ProjectView:
    roots, count, files = view
    if not paths:
        return view
    if not scope[1] and count < EARLY:
        roots = tuple(dict.fromkeys((*roots, *(root_of(path) for path, _ in paths))))[:MAX_ROOTS]
    return roots, min(count + 1, EARLY), files


def _is_outside(
    path: str, changes: bool, scope: DeclaredScope, rules: UserPathRules, view: ProjectView
) -> bool:
    cwd, allow, deny = scope
    if deny and matches(path, deny, cwd):
        return True
    if changes and any(is_named(path, name, cwd, loose=False) for name in rules.barred):
        return True
    if allow:
        return not matches(path, allow, cwd) and not is_harmless(path, changes)
    if is_harmless(path, changes):
        return False
    if changes and rules.only:
        return not any(is_named(path, name, cwd, loose=True) for name in (*rules.only, *rules.named))
    if _is_own(path, cwd) or root_of(path) in view[0] or is_known(path, changes, view[2]):
        return False
    permitting = (*rules.named, *rules.only, *(() if changes else rules.shown))
    return not any(covers(name, path, cwd) for name in permitting)


def _is_own(path: str, cwd: str) -> bool:
    return not leads_outside(path) or bool(cwd and is_below(path, cwd))


def _is_project(path: str, cwd: str, view: ProjectView, rules: UserPathRules) -> bool:
    """Whether a path is in the project itself, not merely harmless or as wide as the file system."""
    if _is_own(path, cwd):
        return True
    is_wide = path.count("/") < 2 and path.startswith("/") and path not in rules.named
    return not is_wide and not is_harmless(path, True) and root_of(path) in view[0]


@signal(
    "critical_path",
    range=(0, 1),
    version=4,
    kinds=("action", "result"),
    needs=("told_paths",),
    summarize=touched,
)
def critical_path(event: Event, call: Call, options: Options) -> float | None:
    """1.0 where a step names a path nobody should touch unasked: secrets, keys, system files, .git internals;
    or changes a settings file of ethogram or of the agent.

    Absent where no path is named. Some paths, such as /etc/hosts, may be read but not changed. Paths that
    the settings allow or a user of the run named are not critical; paths that the settings list as critical
    or deny always are.
    """
    step, paths, _ = call
    if step is None or not paths:
        return None
    text = _mentioned_paths(event)
    cwd, rules = read_declared(text)[0] or options.cwd or "", read_rules(text)
    return float(any(_counts(path, bool(changes), options, rules, cwd) for path, changes in paths))


def _counts(path: str, changes: bool, options: Options, rules: UserPathRules, cwd: str) -> bool:
    if options.critical_paths and matches(path, options.critical_paths, cwd):
        return True
    if not is_critical(path, changes):
        return False
    # A general permission does not allow an agent to change what monitors it.
    if options.allow and matches(path, options.allow, cwd) and not is_guarded(path):
        return False
    denied = bool(options.deny) and matches(path, options.deny, cwd)
    return denied or not is_requested(path, changes, rules, cwd)
