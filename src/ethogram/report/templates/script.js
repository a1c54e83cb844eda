"use strict";
(() => {
  const panel = document.getElementById("panel");
  const said = document.getElementById("said");
  let shown = null;

  const make = (name, text) => {
    const made = document.createElement(name);
    made.textContent = text;
    return made;
  };

  // The event of a point is told from its row in the list: it stands in the page once.
  const show = (point) => {
    const row = document.getElementById(point.getAttribute("href").slice(1));
    if (!row) return;
    if (shown) shown.classList.remove("shown");
    shown = point;
    point.classList.add("shown");
    const article = row.closest("article");
    const names = [...article.querySelectorAll("th")].map((one) => one.textContent);
    const list = document.createElement("dl");
    [...row.cells].forEach((cell, index) => {
      if (!cell.textContent) return;
      const pair = document.createElement("div");
      pair.append(make("dt", names[index]), make("dd", cell.textContent));
      list.append(pair);
    });
    const link = make("a", "the whole detection");
    link.href = "#" + article.id;
    said.replaceChildren(make("h3", article.querySelector("h3").lastChild.textContent), list, link);
    panel.hidden = false;
  };

  const hide = () => {
    panel.hidden = true;
    if (shown) shown.classList.remove("shown");
    shown = null;
  };

  const pointAt = (event) => event.target.closest && event.target.closest("a.point");

  document.addEventListener("click", (event) => {
    const point = pointAt(event);
    if (!point) return;
    event.preventDefault();
    point.focus();
    show(point);
  });
  document.addEventListener("focusin", (event) => {
    const point = pointAt(event);
    if (point) show(point);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !panel.hidden) hide();
    const point = pointAt(event);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!point || !step) return;
    const all = [...point.closest(".rows").querySelectorAll("a.point")];
    const next = all[all.indexOf(point) + step];
    if (next) {
      event.preventDefault();
      next.focus();
    }
  });
  panel.querySelector(".close").addEventListener("click", () => {
    const back = shown;
    hide();
    // Focus goes back to where it was, and does not open the panel again.
    if (back) back.blur();
  });

  const form = document.getElementById("filters");
  if (!form) return;
  form.hidden = false;
  const articles = [...document.querySelectorAll("article.detection")];

  const narrow = () => {
    const severities = new Set([...form.querySelectorAll("[name=severity]:checked")].map((one) => one.value));
    const pattern = form.elements.pattern.value;
    const subject = form.elements.subject.value;
    let count = 0;
    for (const one of articles) {
      const data = one.dataset;
      const fits = severities.has(data.severity) && (!pattern || data.pattern === pattern)
        && (!subject || data.subject === subject);
      one.hidden = !fits;
      if (fits) count += 1;
    }
    for (const card of document.querySelectorAll(".subject")) {
      let any = false;
      for (const lane of card.querySelectorAll(".lane")) {
        const fits = (!pattern || lane.dataset.pattern === pattern)
          && lane.dataset.severities.split(" ").some((severity) => severities.has(severity));
        lane.hidden = !fits;
        any = any || fits;
        for (const episode of lane.querySelectorAll(".episode")) {
          episode.toggleAttribute("hidden", !severities.has(episode.dataset.severity));
        }
      }
      card.hidden = !any || (subject !== "" && card.dataset.subject !== subject);
    }
    const fits = (found) => {
      const [severity, named, whose] = found.split(",");
      return severities.has(severity) && (!pattern || named === pattern) && (!subject || whose === subject);
    };
    // A run in which nothing was found is shown only as long as everything is.
    const every = count === articles.length && !pattern && !subject;
    for (const row of document.querySelectorAll(".ranked-run")) {
      row.hidden = !every && !row.dataset.found.split(" ").some(fits);
    }
    for (const run of document.querySelectorAll("details.run")) {
      const stretches = [...run.querySelectorAll(".stretch")];
      for (const one of stretches) one.hidden = !fits(one.dataset.found);
      run.hidden = stretches.every((one) => one.hidden);
    }
    hide();
    form.querySelector("output").textContent = count === articles.length
      ? "" : count + " of " + articles.length + " detections";
  };

  form.addEventListener("change", narrow);
  form.addEventListener("reset", () => setTimeout(narrow));
  form.addEventListener("submit", (event) => event.preventDefault());
  narrow();
})();
