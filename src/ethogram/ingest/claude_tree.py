"""The tree of a Claude Code transcript: which lines are on branches that the user went back from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .documents import dict_of, list_of, text_at

Line = tuple[int, Any]
"""A line's number, and what stands on it."""


def agent_of(told: Mapping[str, Any]) -> str | None:
    """The sub-agent whose line this is; None for the main agent.

    >>> agent_of({"isSidechain": True, "agentId": "a1"}), agent_of({"isSidechain": True}), agent_of({})
    ('a1', 'sidechain', None)
    """
    if told.get("isSidechain") is not True:
        return None
    return text_at(told, "agentId") or "sidechain"


def abandoned(lines: Sequence[Line]) -> frozenset[int]:
    """Places of the lines that do not lead to the last one: an earlier prompt, and all that came of it.

    Calls made at the same time are siblings too, and stay: only a prompt, or an answer begun anew, can be
    abandoned. Lines that do not say what they follow, follow the one before.
    """
    nodes = _nodes(lines)
    if not nodes:
        return frozenset()
    kept = _chain(nodes)
    spoken = {_message(nodes[place]) for place in kept} - {None}
    left: set[int] = set()
    for place, node in nodes.items():  # parents stand before their children
        if place in kept:
            continue
        if node["parent"] in left or _is_prompt(node) or _message(node) not in {None, *spoken}:
            left.add(place)
    return frozenset(left)


def _nodes(lines: Sequence[Line]) -> dict[int, dict[str, Any]]:
    """Place to line and parent's place, of all lines of the main agent that are in the tree."""
    places: dict[str, int] = {}
    nodes: dict[int, dict[str, Any]] = {}
    before: int | None = None
    for place, (_, told) in enumerate(lines):
        uuid = text_at(told, "uuid")
        if uuid is None or not isinstance(told, dict) or agent_of(told) is not None:
            continue
        above = text_at(told, "parentUuid", "logicalParentUuid")
        is_root = "parentUuid" in told and above is None
        # A parent that is not in the file was cut off; the line before stands for it.
        nodes[place] = {"told": told, "parent": None if is_root else places.get(above or "", before)}
        places[uuid] = before = place
    return nodes


def _chain(nodes: Mapping[int, Mapping[str, Any]]) -> set[int]:
    """The last line that says something, and all it follows."""
    said = [place for place, node in nodes.items() if node["told"].get("type") in ("user", "assistant")]
    place: int | None = (said or list(nodes))[-1]
    chain: set[int] = set()
    while place is not None and place not in chain:
        chain.add(place)
        place = nodes[place]["parent"]
    return chain


def _is_prompt(node: Mapping[str, Any]) -> bool:
    told = node["told"]
    if told.get("type") != "user" or told.get("isMeta") is True:
        return False
    content = dict_of(told.get("message")).get("content")
    return not any(dict_of(one).get("type") == "tool_result" for one in list_of(content))


def _message(node: Mapping[str, Any]) -> str | None:
    told = node["told"]
    return text_at(told.get("message"), "id") if told.get("type") == "assistant" else None
