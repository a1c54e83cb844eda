"""Pages of the dashboard: templates that escape every text and load nothing from elsewhere."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Request
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from pydantic import AfterValidator
from starlette.responses import HTMLResponse, RedirectResponse, Response

from .. import __version__
from ..app.run_record import shown_action
from ..models import Event
from ..report import charts, svg, wording
from ..report.html import asset
from ..report.html import environment as report_environment
from ..report.runs import result_text
from ..report.wording import clean
from .request_checks import Refused
from .routes import service_of

HERE = Path(__file__).parent
STATIC = {"app.css": "text/css", "app.js": "text/javascript", "report.css": "text/css"}
PAGES = (
    ("/", "Inbox"),
    ("/subjects", "Subjects"),
    ("/runs", "Runs"),
    ("/chats", "Chats"),
    ("/people", "People"),
    ("/patterns", "Patterns"),
    ("/learning", "Learning"),
    ("/connect", "Connect"),
)
"""Address and name of each entry of the menu."""


Part = Annotated[str, AfterValidator(unquote)]
"""A name in a path, as `part` writes it."""


@cache
def static(name: str) -> bytes:
    """A style or script; Refused where there is none."""
    if name not in STATIC:
        raise Refused(404, "not_found", "no such file")
    if name == "report.css":
        return (asset("style.css") + asset("chat.css")).encode()
    return (HERE / "static" / name).read_bytes()


@cache
def version_of(name: str) -> str:
    """What changes when a file does, so that browsers may keep the others."""
    return hashlib.sha256(static(name)).hexdigest()[:12]


@cache
def environment() -> Environment:
    """Templates of the dashboard, with the words and marks of reports."""
    env = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=svg.safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    report = report_environment()
    env.filters |= {name: item for name, item in report.filters.items() if name not in Environment().filters}
    env.filters |= {
        "span_text": wording.span, "anchor": charts.detection_anchor, "lines": lines, "share": share_text,
        "duration": wording.duration_text, "part": part, "step_text": step_text,
    }  # fmt: skip
    env.globals |= {
        "chip": svg.chip, "mark": svg.mark, "gauge": gauge, "definitions": svg.definitions, "pages": PAGES,
        "version": __version__, "static": lambda name: f"/static/{name}?v={version_of(name)}",
    }  # fmt: skip
    return env


def lines(text: object, most: int = 20_000) -> Markup:
    """A text of several lines, each made safe; the lines stay lines.

    >>> lines("a < b\\n\\tc")
    Markup('a &lt; b\\n    c')
    """
    shown = str(text)[:most].replace("\t", "    ").splitlines()
    return Markup("\n").join(svg.safe(line) for line in shown)


def part(name: object) -> str:
    """A name as one part of a path, whatever is in it; `Part` reads it.

    Slashes and dots are written twice encoded: servers and browsers take those that are encoded once for
    parts of the path.

    >>> part("a/b c"), part("..")
    ('a%252Fb%20c', '%252E%252E')
    """
    text = str(name).replace("%", "%25").replace("/", "%2F")
    return quote(text.replace(".", "%2E") if set(text) == {"."} else text, safe="")


def step_text(event: Event) -> str:
    """What an event that is not a message did, or how it ended."""
    if event.kind == "action":
        return shown_action(event)
    return clean(result_text(event) or event.kind, 200)


def gauge(share: float) -> Markup:
    """A bar that is filled to a share of its length."""
    bar = svg.tag("rect", width=svg.percent(100 * min(max(share, 0.0), 1.0)), height="100%")
    return svg.tag("svg", bar, class_="bar-of", width=64, height=8, aria_hidden="true")


def share_text(share: float) -> str:
    """A share of a whole in percent.

    >>> share_text(0.014), share_text(0.004), share_text(0)
    ('1%', 'under 1%', '0%')
    """
    return "under 1%" if 0 < share < 0.01 else f"{share:.0%}"


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> Response:
    """A page."""
    service = service_of(request)
    context = {
        "path": request.url.path,
        "has_keys": not service.keys.is_empty,
        "live": service.sweeper.is_alive,
        "notice": service.notice,
        "waits": False,
    } | context
    return HTMLResponse(environment().get_template(template).render(**context), status)


def back(request: Request, to: str = "/") -> Response:
    """Return to the page a form was on, which is always one of ours."""
    wanted = request.query_params.get("back", to)
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return RedirectResponse(wanted if is_ours else to, 303)
