"use strict";
(() => {
  const live = document.getElementById("live");
  const items = () => [...document.querySelectorAll(".item")];
  let at = -1;

  const move = (step) => {
    const all = items();
    if (!all.length) return;
    at = Math.max(0, Math.min(all.length - 1, at + step));
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
    if (event.target.closest("input, textarea, select")) return;
    const item = items()[at];
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && item && event.target === item) location.assign(item.dataset.href);
    else {
      const scope = "cfm".includes(event.key) ? item || document.querySelector(".detection") : document;
      const button = scope && scope.querySelector(`button[data-key="${CSS.escape(event.key)}"]`);
      if (button) button.click();
    }
  });

  // What is new since the page was made; the page itself never changes under the reader's hands.
  let fresh = 0;
  const source = new EventSource("/v1/detections/stream");
  source.addEventListener("detection", () => {
    fresh += 1;
    const link = document.createElement("a");
    link.href = "/";
    link.textContent = `${fresh} new`;
    live.replaceChildren(link);
    live.classList.remove("off");
  });
  source.addEventListener("open", () => live.classList.remove("off"));
  source.addEventListener("error", () => live.classList.add("off"));
})();
