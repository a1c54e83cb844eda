"""The stores of the version before, restored, and what they answer."""

from __future__ import annotations

import asyncio
import json
import lzma
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import neo4j_server
import servers
import store_dumps
from golden_text import Normal, alone, answers, renew
from goldens.previous import stories

DATA = Path(__file__).with_name("data")
ANSWERS = Path(__file__).with_name("answers")
KINDS = ("sqlite", "postgresql", "neo4j")
PEOPLE = ("usage", "aggregates", "sessions")
VARYING = ("bytes", "schema")
"""Fields that differ from kind to kind of store, and from version to version."""
PAGES = (
    "/v1/inbox",
    "/v1/audit",
    "/v1/detections?limit=3",
    f"/v1/detections/{stories.ANN}",
    "/v1/subjects?limit=3",
)


def unpacked(name: str) -> bytes:
    """The content of a file of the version before."""
    return lzma.decompress((DATA / f"{name}.xz").read_bytes())


def restore(name: str, kind: str, url: str) -> None:
    """Make an empty store what it was: `events` or `private`."""
    content = unpacked(f"{name}.{kind}")
    if kind == "sqlite":
        Path(url).write_bytes(content)
    elif kind == "postgresql":
        store_dumps.restore_postgres(content.decode(), url)
    else:
        with neo4j_server.driver_of(url) as driver:
            store_dumps.restore_neo4j(content.decode(), driver)


def normal_of(url: str, folder: Path) -> Normal:
    """The normal form in which all kinds of stores answer the same."""
    without_password = re.sub(r"(://[^:/@]+):[^@]+@", r"\1@", url)
    return Normal({url: "store", without_password: "store", str(folder): "folder"}, VARYING)


def answers_of_events(kind: str, url: str, folder: Path) -> str:
    """What a store of events answers: commands, and pages of the service."""
    stories.write_files(folder, stories.TALK + stories.NEXT_TURNS)
    shutil.copy(DATA / "ethogram.learned.yaml", folder)
    with alone(folder):
        restore("events", kind, url)
        normal = normal_of(url, folder)
        pages = pages_of_service(url, normal)
        return pages + answers(stories.event_questions(url), normal)


def pages_of_service(url: str, normal: Normal) -> str:
    """What the service answers to the key that was made before."""
    import httpx

    from ethogram.service import state
    from ethogram.service.app import create_app
    from ethogram.service.options import ServeOptions

    async def ask() -> list[str]:
        with mock.patch.object(state, "Sweeper", mock.MagicMock()):
            service = state.Service(ServeOptions(port=0, store=url))
        headers = {"Authorization": f"Bearer {(DATA / 'api_key.txt').read_text()}"}
        transport = httpx.ASGITransport(create_app(service))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as client:
            found = [await client.get(page) for page in PAGES]
        service.close()
        return [
            f"GET {page}  # {answer.status_code}\n"
            + "\n".join(normal.records(items_of(answer.json())))
            + "\n"
            for page, answer in zip(PAGES, found, strict=True)
        ]

    return "\n".join([*asyncio.run(ask()), ""])


def items_of(body: dict[str, Any]) -> str:
    """A page of the API as JSON lines: the items of its list, then the rest."""
    items = next((value for value in body.values() if isinstance(value, list)), [])
    rest = {name: value for name, value in body.items() if value is not items}
    return "\n".join(json.dumps(item) for item in (*items, rest))


def answers_of_private(kind: str, url: str, folder: Path) -> str:
    """What a store of pseudonyms answers."""
    stories.write_files(folder)
    with alone(folder):
        restore("private", kind, url)
        normal = normal_of(url, folder)
        return answers(stories.private_questions(url), normal)


def answers_of_people(name: str, folder: Path) -> str:
    """What a store of people's use answers."""
    stories.write_files(folder)
    if name == "usage":
        shutil.copy(DATA / "rotated.key", folder / "usage.key")
        (folder / "usage.key").chmod(0o600)
    with alone(folder):
        Path("people.db").write_bytes(unpacked(f"{name}.sqlite"))
        return answers(stories.people_questions("people.db"), Normal({str(folder): "folder"}, VARYING))


@contextmanager
def empty_store(kind: str) -> Iterator[str]:
    """The URL of an empty store of a kind."""
    with ExitStack() as stack:
        if kind == "sqlite":
            yield "events.db"
        elif kind == "postgresql":
            yield stack.enter_context(servers.postgres_schema())
        else:
            yield stack.enter_context(neo4j_server.empty_neo4j())


def write_answers() -> None:
    """Write what the stores answer, and say where kinds of stores differ."""
    ask: dict[str, Callable[[str, str, Path], str]] = {
        "events": answers_of_events,
        "private": answers_of_private,
    }
    for kind in KINDS:
        for name, answers_of in ask.items():
            with tempfile.TemporaryDirectory() as folder, empty_store(kind) as url:
                text = answers_of(kind, url, Path(folder).resolve())
            neo4j_server._used = False
            print(f"--- {name} in {kind}")
            renew(ANSWERS / f"{name}.txt", text)
    for name in PEOPLE:
        with tempfile.TemporaryDirectory() as folder:
            renew(ANSWERS / f"{name}.txt", answers_of_people(name, Path(folder).resolve()))
