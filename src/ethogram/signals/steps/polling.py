"""Polling: commands that ask how far something outside is, whose answer may stay the same for a while."""

from __future__ import annotations

from collections.abc import Mapping

from .words import words

ALWAYS = words("squeue nvidia-smi ps jobs")
ASKING: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "gh": (("run", "view"), ("run", "watch"), ("run", "list"), ("pr", "checks")),
    "kubectl": (("get",), ("rollout", "status")),
    "docker": (("ps",), ("compose", "ps")),
    "docker-compose": (("ps",),),
    "systemctl": (("status",), ("is-active",)),
}
"""A program to the words by which it is asked."""
VERBS: Mapping[str, frozenset[str]] = {"gcloud": words("describe list"), "az": words("show")}
"""Programs whose verb stands behind the names of what it is about."""
BEFORE = 2
"""Values of options that may stand before the words."""
LOGS = ("--log", "--log-failed")


def asks_for_status(program: str, given: tuple[str, ...]) -> bool:
    """Whether a program with these words asks for the status of something.

    A look at the log of a finished run is reading, and what git says of the working tree changes only by
    what the agent does.

    >>> asks_for_status("kubectl", ("-n", "shop", "get", "pods")), asks_for_status("git", ("status",))
    (True, False)
    """
    if program in ALWAYS:
        return True
    bare = [word for word in given if not word.startswith("-")]
    if program == "aws":
        return any(word.startswith("describe-") for word in bare[: BEFORE + 2])
    if program in VERBS:
        return not VERBS[program].isdisjoint(bare)
    if program not in ASKING or any(word in LOGS for word in given):
        return False
    return any(
        tuple(bare[place : place + len(asked)]) == asked
        for asked in ASKING[program]
        for place in range(BEFORE + 1)
    )
