"""Options of the evaluators that ask a language model, checked before anything is sent."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ..config.checks import VARIABLE
from ..errors import BadUsage, MissingExtra, did_you_mean
from ..models.slotted import dataclass
from .pricing import Price, price_from, price_of

KNOWN = ("model", "base_url", "concurrency", "timeout", "max_tokens", "price", "key_env", "allow_http")

NO_KEY = "none"  # sent where a server needs no key: the SDKs require one
_KEY = re.compile(r"[!-~]{1,1000}")
_MODEL = re.compile(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}")


@dataclass(frozen=True, slots=True)
class Provider:
    """Defaults of a protocol: address, key variable, model and package."""

    name: str
    package: str
    base_url: str
    key_env: str
    model: str


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Checked options; the key is read from the environment when the client is made."""

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


def read_options(options: Mapping[str, Any], provider: Provider) -> ModelSettings:
    """Check the options; BadUsage says what is wrong and never shows a key."""
    name = provider.name
    for key in map(str, options):
        if key in ("key", "api_key", "token"):
            raise BadUsage(f"{name}: keys are read from the environment only; key_env names the variable")
        if key not in KNOWN:
            near = did_you_mean(key, KNOWN) or f"; known are {', '.join(KNOWN)}"
            raise BadUsage(f"{name}: unknown option {key!r:.40}{near}")
    if importlib.util.find_spec(provider.package) is None:
        raise MissingExtra(provider.package, "llm", f"the evaluator {name}")
    base_url = _address(name, options.get("base_url", provider.base_url), options.get("allow_http", False))
    host = urlsplit(base_url).hostname or ""
    own, local = host == urlsplit(provider.base_url).hostname, _is_local(host)
    model = _model(name, options.get("model", provider.model if own or name == "anthropic" else None))
    number = partial(_number, name, options)
    return ModelSettings(
        model=model,
        base_url=base_url,
        own=own,
        local=local,
        key_env=_key_env(name, options.get("key_env"), own, local, provider.key_env),
        concurrency=int(number("concurrency", 4, 1, 64, whole=True)),
        timeout=number("timeout", 60, 0.1, 3_600),
        max_tokens=int(number("max_tokens", 1_500, 64, 128_000, whole=True)),
        price=price_from(name, options["price"]) if "price" in options else price_of(model),
    )


def _model(name: str, value: Any) -> str:
    """The model's name; a float is refused, since 4.10 and 4.1 are the same number."""
    if value is None:
        raise BadUsage(f"{name}: model is missing: expected the name of a model of that server")
    if value == "":
        raise BadUsage(f"{name}: model has no value: expected the model's name")
    if isinstance(value, float):
        raise BadUsage(f"{name}: model is a number: expected a name, in quotes")
    model = str(value) if type(value) is int else value
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        raise BadUsage(f"{name}: invalid model: expected a name of at most 200 characters without blanks")
    return model


def _address(name: str, value: Any, allow_http: Any) -> str:
    """The address, unless it holds a key, or a key or text would travel unencrypted."""
    try:
        parts = urlsplit(value)
        host, _ = parts.hostname or "", parts.port
    except (ValueError, TypeError, AttributeError):
        host, parts = "", urlsplit("")
    if parts.scheme not in ("http", "https") or not host:
        raise BadUsage(f"{name}: invalid base_url: expected an address such as https://example.org/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadUsage(f"{name}: invalid base_url: expected a plain address, without user, password, ? or #")
    if allow_http not in (True, False, "true", "false"):
        raise BadUsage(f"{name}: invalid allow_http: expected true or false")
    if parts.scheme == "http" and not _is_local(host) and allow_http not in (True, "true"):
        raise BadUsage(
            f"{name}: base_url is http and not on this machine: texts and key could be read on the way; "
            "use https, or allow_http: true within your own network"
        )
    return str(value).rstrip("/")


def _is_local(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _key_env(name: str, value: Any, own: bool, local: bool, default: str) -> str | None:
    """The variable that holds the key; a provider's own key is not sent to other servers by default."""
    if value is None and not own:
        if local:
            return None
        raise BadUsage(
            f"{name}: key_env is missing: expected the environment variable with the key of that server "
            f"({default} is not sent to others)"
        )
    variable = default if value is None else value
    # Capitals only: a key written here by mistake is recognised, and not repeated in the error.
    if not isinstance(variable, str) or not VARIABLE.fullmatch(variable):
        raise BadUsage(
            f"{name}: invalid key_env: expected the name of an environment variable in capitals, not the key"
        )
    if not os.environ.get(variable):
        raise BadUsage(f"{name} needs a key in the environment variable {variable}")
    if not _KEY.fullmatch(os.environ[variable]):
        raise BadUsage(f"{name}: {variable} holds blanks or other characters that no key has")
    return variable


def _number(
    name: str, options: Mapping[str, Any], key: str, default: float, least: float, most: float,
    *, whole: bool = False,
) -> float:  # fmt: skip
    option = options.get(key, default)
    try:
        value = float("nan") if isinstance(option, bool) else float(option)
    except (TypeError, ValueError):
        value = float("nan")
    if not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        raise BadUsage(f"{name}: invalid {key}: expected {kind} from {least:g} to {most:g}")
    return value
