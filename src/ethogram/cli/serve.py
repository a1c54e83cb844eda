"""`ethogram serve`: the service, and `ethogram keys`: who may use it."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Annotated

from ..errors import BadUsage, MissingExtra
from ..store import open_event_store, open_store
from . import options as o
from .output import emit, write_json, write_line
from .scoring import Budget

SECRET = "ETHOGRAM_WEBHOOK_SECRET"
"""The variable with the secret that signs what webhooks get."""
DAY = 86_400.0


def serve(
    store: Annotated[
        str, o.opt("Keep everything in this store: a path or URL.", metavar="URL")
    ] = "ethogram.db",
    host: Annotated[str, o.opt("Listen on this address.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, o.opt("Listen on this port.", metavar="N", min=0, max=65535)] = 8765,
    allow_host: Annotated[
        list[str], o.opt("Also answer to this host name.", "--allow-host", metavar="NAME")
    ] = o.NONE,
    keep_text: Annotated[bool, o.opt("Store the texts of events.", "--keep-text")] = False,
    demo: Annotated[bool, o.opt("Show the examples, in a store that is gone afterwards.", "--demo")] = False,
    webhook: Annotated[
        list[str], o.opt("Post every change of a detection to URL.", "--webhook", metavar="URL")
    ] = o.NONE,
    exports: Annotated[
        list[str],
        o.opt("Send detections as scores: phoenix, langfuse, otel.", "--export", metavar="NAME=URL"),
    ] = o.NONE,
    public_url: Annotated[str, o.opt("Use this address in links.", metavar="URL")] = "",
    retention: Annotated[str, o.opt("Remove what is older than this, like 90d.", metavar="DURATION")] = "",
    evaluator: Annotated[
        str, o.opt("Score stored texts first: local, openai, ...", metavar="NAME", panel=o.SCORING)
    ] = "",
    budget: Budget = None,
    patterns: o.Patterns = o.NONE,
    config: o.Config = "",
) -> None:
    """Serve: take events over HTTP, detect, and show what was found."""
    try:
        from ..service.app import create_app
        from ..service.server import bind, listen
    except ImportError as error:
        raise MissingExtra(error.name or "fastapi", "serve", "ethogram serve") from None
    from ..service.demo import fill
    from ..service.options import ServeOptions
    from ..service.state import Service

    settings = o.InputOptions((), "", config).loaded().settings
    keep_for = o.seconds_of(retention, "--retention")
    if keep_for is not None and keep_for < DAY:
        raise BadUsage(f"invalid --retention {retention!r:.40}: expected one day or more, like 90d")
    if evaluator:
        from ..app.evaluation.scoring import evaluator_of, settings_for

        if not keep_text and not demo:
            raise BadUsage("--evaluator needs --keep-text: it scores stored texts")
        made = evaluator_of(settings, evaluator)
        settings = settings if made is None else settings_for(settings, made.scorer)
    elif budget is not None:
        raise BadUsage("--budget needs --evaluator")
    with ExitStack() as stack:
        bound = stack.enter_context(bind(host, port))
        if demo:
            store = f"{stack.enter_context(TemporaryDirectory(prefix='ethogram-'))}/demo.db"
        options = ServeOptions(
            store=store,
            host=host,
            port=bound.getsockname()[1],
            keep_text=keep_text or demo,
            patterns=tuple(patterns),
            settings=settings,
            hosts=tuple(allow_host),
            webhooks=tuple(webhook),
            webhook_secret=os.environ.get(SECRET, ""),
            exports=tuple(exports),
            public_url=public_url,
            retention=keep_for,
            evaluator=evaluator,
            budget=budget,
        )
        service = Service(options)
        if demo:
            fill(service)
        write_line(f"ethogram on {options.url}, store {service.store.url}; Ctrl-C stops it", to=sys.stderr)
        listen(create_app(service), bound, on_stop=service.end_streams)


def new(
    name: Annotated[str, o.arg("Say who or what uses the key.", "NAME")],
    store: o.StoreUrl,
    role: Annotated[str, o.opt("Allow this: ingest, read, judge or admin.", metavar="ROLE")] = "ingest",
    rate: Annotated[
        int, o.opt("Allow so many requests a minute (0: any number).", metavar="N", min=0, max=1_000_000)
    ] = 0,
    as_json: o.AsJson = False,
) -> None:
    """Make an API key, and print it once."""
    from ..service.keys import new_key

    with open_event_store(store) as opened:
        key, secret = new_key(opened, name, role, o.now(), rate=rate)
    if as_json:
        write_json({**key.to_dict(), "key": secret})
    else:
        write_line(secret)
        write_line(f"key {key.id} for {key.name} may {key.role}; it is not shown again", to=sys.stderr)


def list_(store: o.StoreUrl, as_json: o.AsJson = False) -> None:
    """List API keys."""
    from ..service.keys import list_keys

    with open_store(store) as opened:
        keys = list_keys(opened)
    lines = [
        f"{key.id}  {key.role:7} {key.name}{f', {key.rate:,} requests a minute' if key.rate else ''}"
        for key in keys
    ] or ["No keys."]
    emit((key.to_dict() for key in keys), lines, as_json=as_json)


def remove(
    key: Annotated[str, o.arg("Remove the key with this id or name.", "KEY")], store: o.StoreUrl
) -> None:
    """Remove an API key."""
    from ..service.keys import remove_key

    with open_store(store) as opened:
        gone = remove_key(opened, key, o.now())
    write_line(f"Removed key {gone.id} for {gone.name}.")
