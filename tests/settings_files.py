"""Settings files for tests, as a user who has reviewed them leaves them."""

from __future__ import annotations

from pathlib import Path

from ethogram.config.trust import add_trust, digest_of, key_of


def trusted_settings(folder: str | Path, text: str | bytes, name: str = "ethogram.yaml") -> Path:
    """Write a settings file into a folder and trust it as it is."""
    path = Path(folder, name)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return trust(path)


def add_settings(text: str) -> None:
    """Add to the settings file of the working directory and trust it as it is then."""
    trusted_settings("", Path("ethogram.yaml").read_text(encoding="utf-8") + text)


def trust(path: str | Path) -> Path:
    """Trust a settings file, learned file or mutes file as it is."""
    add_trust({key_of(path): digest_of(path)})
    return Path(path)
