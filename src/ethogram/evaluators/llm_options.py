"""Options of the evaluators that ask a language model, checked before anything is sent."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from ..errors import BadUsage, MissingExtra, did_you_mean
from ..models.slotted import dataclass
from ..remote.address import NO_KEY, check_address, check_model, is_local, key_variable
from .pricing import Price, price_from, price_of

KNOWN = ("model", "base_url", "concurrency", "timeout", "max_tokens", "price", "key_env", "allow_http")


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
    base_url = check_address(
        name, options.get("base_url", provider.base_url), options.get("allow_http", False)
    )
    host = urlsplit(base_url).hostname or ""
    own, local = host == urlsplit(provider.base_url).hostname, is_local(host)
    model = check_model(name, options.get("model", provider.model if own or name == "anthropic" else None))
    number = partial(_number, name, options)
    return ModelSettings(
        model=model,
        base_url=base_url,
        own=own,
        local=local,
        key_env=key_variable(name, options.get("key_env"), own, local, provider.key_env),
        concurrency=int(number("concurrency", 4, 1, 64, whole=True)),
        timeout=number("timeout", 60, 0.1, 3_600),
        max_tokens=int(number("max_tokens", 1_500, 64, 128_000, whole=True)),
        price=price_from(name, options["price"]) if "price" in options else price_of(model),
    )


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
