"""The dashboard in a real browser: by keyboard, live, on a phone, without scripts, and with hostile names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from browser import browser, chromium
from ethogram.service.demo import fill
from ethogram.service.html import part
from ethogram.service.inbox import inbox
from ethogram.service.state import Service
from service.conftest import running, wait_for
from service.test_events import COLD, line, post
from waiting import PATIENCE_SECONDS

if chromium() is None and os.environ.get("CI") != "true":
    pytest.skip("no chromium: run tools/servers.sh as root, or set CHROMIUM", allow_module_level=True)

WIDE, PHONE = {"width": 1100, "height": 900}, {"width": 390, "height": 844}
SCRIPT = "<script>document.title='taken'</script><img src=x onerror=alert(1)>"
ODD = "a/b\u202e%2F.." + "w" * 150
COUNTS = """(() => {
  const count = what => document.querySelectorAll(what).length;
  return {
    title: document.title,
    headings: count("h1"),
    mains: count("main"),
    inline: count("[style], style, script:not([src])"),
    unnamed: count("input:not([aria-label]), select:not([aria-label])"),
    labelled: count("label input, label select"),
    width: document.documentElement.scrollWidth,
  };
})()"""
PAGES = (
    "/", "/subjects", "/runs", "/chats", "/people", "/patterns", "/learning", "/connect", "/api", "/login",
    "/subjects/demo-conversation/ann", "/subjects/demo-run/fixer/why/loop", "/runs/demo-run/run-1",
    "/chats/demo-risk/chat-1", "/people/demo-usage/ana", "/patterns/loop", "/nothing",
)  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, httpx.Client]]:
    """A service with the examples and somebody with a hostile name, all detected."""
    with running(store=str(tmp_path_factory.mktemp("site") / "site.db"), keep_text=True) as (service, client):
        fill(service)
        for name, who in (("x", SCRIPT), ("y", ODD)):
            words = {
                "subject": who,
                "target": SCRIPT,
                "thread": ODD,
                "kind": "message",
                "text": f"{who}\n{SCRIPT}",
            }
            lines = [line(f"{name}{day}", day, **words) for day in (1, 2, 3)]
            assert post(client, *lines, line(f"{name}4", 4, **{**words, "readings": COLD})).status_code == 200
        wait_for(lambda: client.get("/v1/detections", params={"subject": ODD}).json()["total"])
        wait_for(lambda: client.get("/v1/detections", params={"source": "demo-usage"}).json()["total"])
        yield service, client


@pytest.fixture(scope="module")
def started() -> Iterator[Any]:
    with browser() as one:
        yield one


@pytest.fixture
def opened(started: Any, site: tuple[Service, httpx.Client]) -> Iterator[Any]:
    """Open a page; what it complained about and asked of others is checked at the end."""
    with opening(started, site[1]) as page:
        yield page


@contextmanager
def opening(started: Any, client: httpx.Client, **how: Any) -> Iterator[Any]:
    base = str(client.base_url).rstrip("/")
    context = started.new_context(base_url=base, **{"viewport": WIDE, **how})
    context.set_default_timeout(PATIENCE_SECONDS * 1000)
    complaints: list[str] = []
    page = context.new_page()
    # Pages that are not there say so in the console, too.
    page.on("console", lambda item: "404" in item.text or complaints.append(item.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda item: item.url.startswith((base, "data:")) or complaints.append(item.url))
    yield page
    context.close()
    assert complaints == []


def follow(page: Any, selector: str) -> None:
    """Click on what leads to another page, and wait until that has loaded."""
    with page.expect_navigation():
        page.click(selector)


def ids(client: httpx.Client, **asked: str) -> list[str]:
    return [item["id"] for item in client.get("/v1/detections", params=asked).json()["detections"]]


# --- every page -----------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False])
def test_every_page_has_a_heading_and_fits_a_phone(
    started: Any, site: tuple[Service, httpx.Client], scripts: bool
) -> None:
    hostile = [part(SCRIPT), part(ODD)]
    found = [f"/detections/{name}" for who in (SCRIPT, ODD, "ann") for name in ids(site[1], subject=who)]
    assert len(found) == 3
    subjects = [f"/subjects/input/{name}" for name in hostile]
    chats = [f"/subjects/input/{hostile[1]}/why/love_bombing"]
    with opening(started, site[1], viewport=PHONE, java_script_enabled=scripts, color_scheme="dark") as page:
        for path in (*PAGES, *found, *subjects, *chats):
            page.goto(path)
            seen = page.evaluate(COUNTS)
            assert (seen["headings"], seen["mains"], seen["inline"]) == (1, 1, 0), path
            assert seen["title"].endswith("ethogram"), path
            assert seen["unnamed"] == seen["labelled"], path
            # What is wider than a phone scrolls inside the page, not the page itself.
            assert seen["width"] <= PHONE["width"], (path, seen["width"])


def test_texts_of_events_are_never_markup(opened: Any, site: tuple[Service, httpx.Client]) -> None:
    opened.goto(f"/detections/{ids(site[1], subject=SCRIPT)[0]}")
    said = opened.locator(".thread .text").first.inner_text()
    assert SCRIPT in said
    assert "\n" in said
    assert opened.locator(".detection bdi").first.inner_text().startswith("<script>")
    opened.goto(f"/subjects/input/{part(ODD)}")
    # A mark that turns the direction is spelled out.
    assert opened.locator("h1").inner_text().startswith("a/b\\u202e%2F..")


# --- inbox ----------------------------------------------------------------------------------


def test_the_inbox_by_keyboard(opened: Any, site: tuple[Service, httpx.Client]) -> None:
    store = site[0].store
    opened.goto("/")
    first, second = (opened.locator("#items .item").nth(place).get_attribute("id") for place in (0, 1))
    opened.keyboard.press("j")
    assert opened.evaluate("document.activeElement.id") == first
    opened.keyboard.press("j")
    opened.keyboard.press("k")
    with opened.expect_navigation():
        opened.keyboard.press("c")
    # The next one is where the reader goes on.
    assert opened.url.endswith(f"#{second}")
    assert opened.evaluate("document.activeElement.id") == second
    judged = opened.locator(f"#{first}")
    assert judged.get_attribute("data-state") == "judged"
    assert "confirmed by local" in judged.inner_text()
    with opened.expect_navigation():
        opened.keyboard.press("Enter")
    assert opened.url.partition("/detections/")[2] == (second or "").removeprefix("d-")
    opened.goto("/")
    opened.keyboard.press("/")
    opened.keyboard.type("c")
    assert opened.evaluate("document.activeElement.name") == "text"
    assert len([item for item in inbox(store, "local") if item.state == "judged"]) == 1


def test_the_inbox_without_scripts(started: Any, site: tuple[Service, httpx.Client]) -> None:
    with opening(started, site[1], java_script_enabled=False) as page:
        page.goto("/")
        page.select_option("select[name=pattern]", "withdrawal")
        page.fill("input[name=text]", "ana")
        follow(page, ".filters button")
        assert page.locator("#items .item").count() == 1
        page.goto("/?source=demo-usage&text=ana")
        # One cause, told once.
        assert page.locator("#items .item").count() == 1
        assert "1 more of the same cause" in page.locator("#items .item").inner_text()
        follow(page, "#items .item h3 a")
        page.fill("input[name=assigned]", "bea")
        page.fill("input[name=note]", "ask <b>her</b>")
        follow(page, ".fields button")
        assert "Assigned to bea by local: ask <b>her</b>" in page.locator(".moments").inner_text()
        follow(page, "button[value=escalates]")
        assert "until its severity rises above" in page.locator(".detection").inner_text()
        page.goto("/?state=muted")
        text = page.locator("#items .item").inner_text()
        assert "assigned to bea" in text
        assert "ask <b>her</b>" in text
        page.goto("/?text=nowhere")
        assert "Nothing passes these filters" in page.locator("main").inner_text()


def test_what_is_new_is_told_and_the_page_stays(opened: Any, site: tuple[Service, httpx.Client]) -> None:
    client = site[1]
    opened.goto("/")
    opened.wait_for_function("document.getElementById('live').textContent === 'live'")
    before = opened.locator("#items").inner_html()
    post(client, *(line(f"n{day}", day, subject="newcomer") for day in (1, 2, 3)))
    post(client, line("n4", 4, subject="newcomer", readings=COLD))
    opened.locator("#news a").wait_for()
    assert "newcomer" in opened.locator("#news").inner_text()
    assert opened.locator("#items").inner_html() == before
    follow(opened, "#news a")
    assert "newcomer" in opened.locator("#items").inner_text()


# --- one detection, one subject -------------------------------------------------------------


def test_points_lead_to_the_events_in_the_thread(opened: Any, site: tuple[Service, httpx.Client]) -> None:
    opened.goto(f"/detections/{ids(site[1], subject='ann', source='demo-conversation')[0]}")
    links = opened.locator("a.point")
    assert links.count() == 5
    for place in range(links.count()):
        target = opened.locator(links.nth(place).get_attribute("href"))
        assert "proof" in (target.get_attribute("class") or "")
    links.last.focus()
    opened.keyboard.press("Enter")
    assert "vote for treasurer" in opened.locator(".thread li:target").inner_text()


def test_the_chart_of_a_subject_zooms(opened: Any) -> None:
    opened.goto("/subjects/demo-conversation/ann")
    whole = opened.locator("a.point").count()
    follow(opened, ".ranges >> text=last day")
    assert 0 < opened.locator("a.point").count() < whole
    follow(opened, ".ranges >> text=all")
    assert opened.locator("a.point").count() == whole
    box = opened.locator("#chart .axis .plot").first.bounding_box()
    y = opened.locator("#chart .rows").first.bounding_box()["y"] + 60
    opened.mouse.move(box["x"] + box["width"] * 0.6, y)
    opened.mouse.down()
    opened.mouse.move(box["x"] + box["width"] * 0.9, y)
    with opened.expect_navigation():
        opened.mouse.up()
    assert "since=2026" in opened.url or "since=20" in opened.url
    assert 0 < opened.locator("a.point").count() < whole


def test_who_did_what_to_whom_and_why_not(opened: Any) -> None:
    opened.goto("/subjects/demo-conversation/ann")
    row = opened.locator("tr", has=opened.locator("th", has_text="bo")).first.inner_text()
    assert "8 messages" in row
    assert "6 messages" in row
    follow(opened, ".quiet >> text=Gaslighting")
    assert opened.locator("h1").inner_text() == "Why not Gaslighting?"
    assert opened.locator(".why h2").first.inner_text().startswith(("No:", "It "))


# --- runs, chats, people, connect -----------------------------------------------------------


def test_runs_chats_and_people_are_told(opened: Any) -> None:
    opened.goto("/runs")
    assert "stuck" in opened.locator(".where").inner_text()
    follow(opened, "text=run-1")
    assert opened.locator(".steps .head").count() == 1
    assert opened.locator(".steps .in").count() == 8
    opened.goto("/chats/demo-risk/chat-1")
    opened.locator(".curve a").last.focus()
    opened.keyboard.press("Enter")
    assert "The flat next door" in opened.locator(".turn:target").inner_text()
    opened.goto("/people")
    text = opened.locator("main").inner_text()
    assert "Withdrawal: active 0 times in the last" in text
    assert "Could not be judged" in text


def test_a_connection_turns_green_with_its_first_event(
    opened: Any, site: tuple[Service, httpx.Client]
) -> None:
    opened.goto("/connect")
    assert opened.locator(".connect.on").count() == 0
    post(site[1], line("first", 5, subject="curly"), params={"source": "curl"})
    opened.locator(".connect.on[data-source=curl]").wait_for()
    assert "connected" in opened.locator(".connect.on h2").inner_text()


def test_without_texts_a_run_says_so(site: tuple[Service, httpx.Client], tmp_path: Any) -> None:
    step = {"thread": "r", "kind": "action", "attributes": {"tool": "bash", "command": "make <b>"}}
    with running(store=str(tmp_path / "bare.db")) as (service, client):
        wait_for(lambda: service.last_report)
        assert "There are no events yet" in client.get("/").text
        post(client, line("a", 1, **step))
        assert "--keep-text" in client.get("/runs/input/r").text
        wait_for(lambda: "no pattern matched" in client.get("/").text)
        wait_for(lambda: not service.sweeper.is_busy)
        service.last_report = None
        looking = client.get("/").text
        assert "Looking..." in looking
        assert 'http-equiv="refresh"' in looking


def test_the_first_steps_of_a_pattern_are_filtered_with_it(site: tuple[Service, httpx.Client]) -> None:
    patterns = re.findall(r'<option value="([a-z_@0-9]+)"', site[1].get("/?source=demo-risk").text)
    assert "information_gathering" in patterns
    assert not [name for name in patterns if "@" in name]
    page = site[1].get("/?pattern=information_gathering&source=demo-risk").text
    assert "in this order" in page
    assert "The first 3 of 4 steps" in page
