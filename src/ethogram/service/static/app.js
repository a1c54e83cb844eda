"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const live = one("#live");
  const news = one("#news");

  // --- keys ---------------------------------------------------------------------------------
  const items = () => [...document.querySelectorAll("#main .item")];
  let at = -1;
  const stand = (place) => {
    const all = items();
    if (!all.length) return;
    at = Math.max(0, Math.min(all.length - 1, place));
    all.forEach((item, index) => item.classList.toggle("at", index === at));
    all[at].focus({ preventScroll: true });
    all[at].scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("focusin", (event) => {
    const item = event.target.closest(".item");
    if (item) at = items().indexOf(item);
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const item = items()[at];
    if (event.key === "j") stand(at + 1);
    else if (event.key === "k") stand(at - 1);
    else if (event.key === "Enter" && item && event.target === item) location.assign(item.dataset.href);
    else {
      const scope = "cfm".includes(event.key) ? item || one("article.detection") : document;
      const target = scope && scope.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (!target) return;
      event.preventDefault();
      if (target.matches("input")) target.focus();
      else target.click();
    }
  });
  // After a decision the address names the next item.
  const named = location.hash && document.getElementById(location.hash.slice(1));
  if (named && named.matches(".item")) stand(items().indexOf(named));

  // --- what is new: told, while the page stays as it is -------------------------------------
  let fresh = 0;
  const stream = new EventSource("/v1/detections/stream");
  stream.addEventListener("detection", (event) => {
    const detection = JSON.parse(event.data);
    if (!["new", "risen", "found again"].includes(detection.change)) return;
    fresh += 1;
    const link = document.createElement("a");
    link.href = location.pathname === "/" ? location.pathname + location.search : "/";
    link.textContent = "Show";
    link.addEventListener("click", (click) => {
      if (location.pathname !== "/") return;
      click.preventDefault();
      location.reload();
    });
    const what = `${detection.title || detection.pattern}: ${detection.subject}`;
    news.replaceChildren(fresh === 1 ? `New: ${what}` : `${fresh} new, the last: ${what}`, link);
  });
  const isLive = (yes) => {
    live.classList.toggle("off", !yes);
    live.textContent = yes ? "live" : "not connected";
  };
  stream.addEventListener("open", () => isLive(true));
  stream.addEventListener("error", () => isLive(false));

  // --- connect: lines turn green with their first event -------------------------------------
  const waiting = () => document.querySelectorAll(".connect:not(.on)");
  const check = async () => {
    const answer = await fetch("/connect/sources");
    const known = answer.ok ? await answer.json() : [];
    for (const line of waiting()) {
      if (!known.includes(line.dataset.source)) continue;
      line.classList.add("on");
      line.querySelector("small").textContent = "connected";
    }
    if (waiting().length) setTimeout(check, 1500);
  };
  if (waiting().length) check();
  for (const lines of navigator.clipboard ? document.querySelectorAll(".connect pre") : []) {
    const button = document.createElement("button");
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(lines.textContent);
      button.textContent = "Copied";
    });
    lines.before(button);
  }

  // --- chart: drag over a part of the time to look at it closer -----------------------------
  for (const rows of document.querySelectorAll("#chart .rows[data-from]")) {
    const plot = rows.querySelector(".axis .plot");
    const brush = document.createElement("div");
    const margin = 0.015;
    let start = null;
    const place = (event) => {
      const box = plot.getBoundingClientRect();
      return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    };
    const show = (from, to) => {
      const box = plot.getBoundingClientRect();
      const left = box.left - rows.getBoundingClientRect().left;
      brush.style.left = `${left + Math.min(from, to) * box.width}px`;
      brush.style.width = `${Math.abs(to - from) * box.width}px`;
    };
    brush.className = "brush";
    rows.addEventListener("pointerdown", (event) => {
      if (event.button || event.clientX < plot.getBoundingClientRect().left || event.target.closest("a")) return;
      start = place(event);
      event.preventDefault();
    });
    addEventListener("pointermove", (event) => {
      if (start === null) return;
      rows.append(brush);
      show(start, place(event));
    });
    addEventListener("pointerup", (event) => {
      if (start === null) return;
      const ends = [start, place(event)].sort((a, b) => a - b);
      start = null;
      brush.remove();
      if (ends[1] - ends[0] < 0.01) return;
      const [from, to] = [Number(rows.dataset.from), Number(rows.dataset.to)];
      const when = (share) => {
        const inside = Math.min(1, Math.max(0, (share - margin) / (1 - 2 * margin)));
        return new Date(from + inside * (to - from)).toISOString();
      };
      const query = new URLSearchParams({ since: when(ends[0]), until: when(ends[1]) });
      location.assign(`${location.pathname}?${query}#chart`);
    });
  }
})();
