"""The checks of an installation."""

from __future__ import annotations

from pathlib import Path

from ethogram.app.doctor import doctor
from ethogram.config import Settings
from ethogram.store import open_store


def states(**options: str) -> dict[str, str]:
    return {item.check: item.state for item in doctor(Settings(), **options)}


def test_an_installation_is_fine() -> None:
    found = states()
    assert found["python"] == found["patterns"] == found["extra serve"] == "ok"


def test_a_store_is_opened_and_never_made(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    assert states(store=str(path))["store"] == "wrong"
    assert not path.exists()
    open_store(str(path), create=True).close()
    assert states(store=str(path)).items() >= {"store": "ok", "disk": "ok"}.items()


def test_a_service_that_does_not_answer_is_wrong() -> None:
    assert states(url="http://127.0.0.1:9")["service"] == "wrong"
    assert states(url="ftp://example.org")["service"] == "wrong"
