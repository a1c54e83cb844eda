"""Checks of an installation: packages, settings, patterns, a store, a running service."""

from __future__ import annotations

import json
import re
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Annotated

from ..config import Settings
from ..errors import EthogramError, install_command
from ..fields import Name, RecordStruct, one_of
from ..remote.address import check_address
from ..store import open_store
from .analyze import load_library

LEAST_FREE = 200 * 2**20
"""Bytes that should be free beside a store."""
SECONDS = 5.0


class DoctorCheck(RecordStruct):
    """One check of an installation: fine, to be known, or wrong."""

    RECORD = "doctor_check"

    check: Name
    state: Annotated[str, one_of("ok", "note", "wrong")]
    message: str


def doctor(settings: Settings, *, store: str = "", url: str = "") -> Iterator[DoctorCheck]:
    """Check what can be checked without changing anything; a store and a service only where named."""
    yield DoctorCheck("python", "ok", f"Python {sys.version.split()[0]}")
    for extra, packages in extras().items():
        if not all(map(_is_installed, packages)):
            yield DoctorCheck(f"extra {extra}", "note", f"not installed: {install_command(extra)}")
        else:
            yield DoctorCheck(f"extra {extra}", "ok", "installed")
    yield _checked("patterns", lambda: f"{len(load_library(None, settings))} patterns are on")
    if store:
        yield _checked("store", lambda: _store(store))
        yield from _disk(store)
    if url:
        yield _checked("service", lambda: _service(url))


def extras() -> dict[str, list[str]]:
    """Extra to the packages it brings, as the installed package declares them; that of developers apart."""
    brings: dict[str, list[str]] = {}
    for line in metadata.requires("ethogram") or ():
        found = re.fullmatch(r"""([\w.-]+).*;\s*extra\s*==\s*['"]([\w-]+)['"]""", line)
        if found and found[2] != "dev":
            brings.setdefault(found[2], []).append(found[1])
    return brings


def _is_installed(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _checked(name: str, look: Callable[[], str]) -> DoctorCheck:
    try:
        return DoctorCheck(name, "ok", look())
    except EthogramError as error:
        return DoctorCheck(name, "wrong", str(error))


def _store(url: str) -> str:
    with open_store(url) as opened:
        info = opened.info()
        last = (
            "never swept" if info.last_sweep is None else f"last swept {info.last_sweep:%Y-%m-%d %H:%M} UTC"
        )
        keys = len(opened.notes("api key"))
        return f"{info.events:,} events, {info.detections:,} detections, {last}, {keys} API keys"


def _disk(url: str) -> Iterator[DoctorCheck]:
    path = Path(url.removeprefix("sqlite:///"))
    if "://" in url and not url.startswith("sqlite:"):
        return
    free = shutil.disk_usage(path.absolute().parent).free
    state = "ok" if free >= LEAST_FREE else "wrong"
    yield DoctorCheck("disk", state, f"{free // 2**20:,} MB free beside the store")


def _service(url: str) -> str:
    address = check_address("--url", url, None, "URL")
    for path in ("/healthz", "/readyz"):
        try:
            with urllib.request.urlopen(f"{address}{path}", timeout=SECONDS) as answer:
                answer.read(1_000)
        except urllib.error.HTTPError as error:
            with error:
                message = json.loads(error.read(10_000) or b"{}").get("error", {}).get("message", "")
            raise EthogramError(f"{path} answers with {error.code}: {message}") from None
        except OSError as error:
            raise EthogramError(f"{address} does not answer: {getattr(error, 'reason', error)}") from None
    return f"{address} answers and detects"
