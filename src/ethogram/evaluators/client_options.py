"""What the settings may say of a model's server, checked before anything is asked and spent."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadUsage, MissingExtra, did_you_mean
from .prices import Price, price_given, price_of

KNOWN = ("model", "base_url", "concurrency", "timeout", "max_tokens", "price", "key_env", "allow_http")

NO_KEY = "none"
"""What is sent where a server asks for no key: the SDKs insist on one."""

# Capitals only: a key that was written here by mistake is told from a name, and not repeated in an error.
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_KEY = re.compile(r"[!-~]{1,1000}")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a protocol is spoken by default: its own address, key variable, model and package."""

    name: str
    package: str
    base_url: str
    key_env: str
    model: str


@dataclass(frozen=True, slots=True)
class Settings:
    """Options that were found good. The key is not among them: it is read where the client is made."""

    model: str
    base_url: str
    own: bool
    local: bool
    key_env: str | None
    concurrency: int
    timeout: float
    max_tokens: int
    price: Price | None

    def key(self) -> str:
        return os.environ[self.key_env] if self.key_env else NO_KEY


def read_options(options: Mapping[str, Any], provider: Provider) -> Settings:
    """The options, or BadUsage that says what is wrong and never shows a key."""
    name = provider.name
    for key in options:
        _check_known(name, str(key))
    if importlib.util.find_spec(provider.package) is None:
        raise MissingExtra(provider.package, "llm", f"the evaluator {name}")
    base_url = _address(name, options.get("base_url", provider.base_url), options.get("allow_http", False))
    own = urlsplit(base_url).hostname == urlsplit(provider.base_url).hostname
    local = _is_local(urlsplit(base_url).hostname or "")
    model = _model(name, options.get("model", provider.model if own or name == "anthropic" else None))
    whole = partial(_number, name, options, whole=True)
    return Settings(
        model=model,
        base_url=base_url,
        own=own,
        local=local,
        key_env=_key_env(name, options.get("key_env"), own, local, provider.key_env),
        concurrency=int(whole("concurrency", 4, 1, 64)),
        timeout=_number(name, options, "timeout", 60, 0.1, 3_600),
        max_tokens=int(whole("max_tokens", 1_500, 64, 128_000)),
        price=price_given(name, options["price"]) if "price" in options else price_of(model),
    )


def _check_known(name: str, key: str) -> None:
    if key in ("key", "api_key", "token"):
        raise BadUsage(f"{name}: keys are read from the environment only; key_env names the variable")
    if key not in KNOWN:
        near = did_you_mean(key, KNOWN) or f"; known are {', '.join(KNOWN)}"
        raise BadUsage(f"{name}: unknown option {key!r:.40}{near}")


def _model(name: str, given: Any) -> str:
    """The name. A whole number is one too; of 4.10 and 4.1 nobody knows any more which was written."""
    if given is None:
        raise BadUsage(f"{name}: model names which of the models of that server is meant")
    if given == "":
        raise BadUsage(f"{name}: model has no value; give the model's name")
    if isinstance(given, float):
        raise BadUsage(f"{name}: model is a name and no number; put it in quotes")
    model = str(given) if type(given) is int else given
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise BadUsage(f"{name}: model is not a name of at most 200 characters without blanks")
    return model


def _address(name: str, given: Any, allow_http: Any) -> str:
    """The address, unless a key or a text would travel in the open, or stands in it."""
    try:
        parts = urlsplit(given)
        host, _ = parts.hostname or "", parts.port
    except (ValueError, TypeError, AttributeError):
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise BadUsage(f"{name}: base_url is not an address such as https://example.org/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadUsage(f"{name}: base_url is a plain address, without user, password, ? or #")
    if allow_http not in (True, False, "true", "false"):
        raise BadUsage(f"{name}: allow_http is true or false")
    if parts.scheme == "http" and not _is_local(host) and allow_http not in (True, "true"):
        raise BadUsage(
            f"{name}: base_url is http and not on this machine: texts and key could be read on the way; "
            "use https, or allow_http: true within your own network"
        )
    return str(given).rstrip("/")


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key_env(name: str, given: Any, own: bool, local: bool, default: str) -> str | None:
    """The variable that holds the key; a provider's own key is not sent to anybody else by default."""
    if given is None and not own:
        if local:
            return None
        raise BadUsage(
            f"{name}: key_env names the environment variable with the key of that server "
            f"({default} is not sent to others)"
        )
    variable = default if given is None else given
    if not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
        raise BadUsage(f"{name}: key_env is the name of an environment variable in capitals, not the key")
    if not os.environ.get(variable):
        raise BadUsage(f"{name} needs a key in the environment variable {variable}")
    if not _KEY.fullmatch(os.environ[variable]):
        raise BadUsage(f"{name}: {variable} holds blanks or other signs that no key has")
    return variable


def _number(
    name: str,
    options: Mapping[str, Any],
    key: str,
    default: float,
    least: float,
    most: float,
    *,
    whole: bool = False,
) -> float:
    given = options.get(key, default)
    try:
        value = float("nan") if isinstance(given, bool) else float(given)
    except (TypeError, ValueError):
        value = float("nan")
    if not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise BadUsage(f"{name}: {key} is {kind} from {least:g} to {most:g}")
    return value
