"""Pages of the dashboard: files, logging in, and what the other pages share."""

from __future__ import annotations

from urllib.parse import parse_qsl

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from ..api import MANY
from ..html import STATIC, render, static
from ..keys import ROLES
from ..request_checks import COOKIE, Refused, body_of
from ..routes import service_of

router = APIRouter(include_in_schema=False)


@router.get("/static/{name}")
def file(name: str) -> Response:
    """A style or script of ours."""
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(static(name), media_type=STATIC[name], headers=headers)


@router.get("/login")
def login_page(request: Request) -> Response:
    return render(request, "login.html", wrong=False)


@router.post("/login")
async def login(request: Request) -> Response:
    """Keep the key in a cookie that no script can read and no other site can send."""
    form = await form_of(request)
    key = service_of(request).keys.find(form.get("key", ""))
    if key is None or "read" not in ROLES[key.role]:
        return render(request, "login.html", wrong=True, status=401)
    answer = RedirectResponse("/", 303)
    secure = service_of(request).options.url.startswith("https://")
    answer.set_cookie(
        COOKIE, form["key"], httponly=True, samesite="strict", secure=secure, max_age=30 * 86400
    )
    return answer


@router.post("/logout")
def logout() -> Response:
    answer = RedirectResponse("/login", 303)
    answer.delete_cookie(COOKIE)
    return answer


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a plain form."""
    body = await body_of(request, MANY)
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise Refused(400, "bad_request", "the form cannot be read") from None
