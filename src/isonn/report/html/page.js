"use strict";
// Everything is drawn already; this shows one graph and one match at a time.
for (const gallery of document.querySelectorAll("[data-gallery]")) {
  const find = (selector) => gallery.querySelector(selector);
  const panels = new Map([...gallery.querySelectorAll(".panel")].map((panel) => [panel.dataset.number, panel]));
  const thumbs = [...gallery.querySelectorAll("[data-open]")];
  const graph = find("[data-graph]"), template = find("[data-template]"), filter = find("[data-filter]");
  let current = graph.value;

  const pick = (panel, match) => {
    for (const part of panel.querySelectorAll("svg [data-m]")) part.classList.toggle("on", part.dataset.m === match);
    for (const button of panel.querySelectorAll("[data-pick]")) {
      const on = button.dataset.pick === match;
      button.setAttribute("aria-pressed", on);
      button.closest("tr").classList.toggle("on", on);
    }
  };

  // The best listed match of the chosen template, or the strongest of all; null when the template has none listed.
  const best = (panel) => {
    const row = template.value === "" ? panel.querySelector("tbody tr") : panel.querySelector(`tr[data-of="${template.value}"]`);
    return row ? row.querySelector("[data-pick]").dataset.pick : null;
  };

  const say = () => {
    const panel = panels.get(current), row = panel.querySelector("tr.on");
    const place = row ? `template ${row.dataset.of} at ${row.querySelector(".place").textContent}` : "";
    find("[data-status]").textContent = row ? `Graph ${current}: ${place}.`
      : `Graph ${current}: template ${template.value} is not among its strongest matches.`;
  };

  const show = (number) => {
    if (!panels.has(number)) return;
    current = graph.value = number;
    for (const [name, panel] of panels) panel.hidden = name !== number;
    for (const thumb of thumbs) {
      if (thumb.dataset.open === number) thumb.setAttribute("aria-current", "true");
      else thumb.removeAttribute("aria-current");
    }
    say();
  };

  const allowed = (panel) => !filter || filter.value === "" || panel.dataset.right === filter.value;

  graph.addEventListener("change", () => show(graph.value));
  template.addEventListener("change", () => {
    for (const panel of panels.values()) pick(panel, best(panel));
    say();
  });
  find("[data-colour]").addEventListener("change", (event) => {
    for (const svg of gallery.querySelectorAll("svg.isonn")) svg.classList.toggle("importance", event.target.value === "importance");
  });
  filter?.addEventListener("change", () => {
    for (const thumb of thumbs) thumb.hidden = !allowed(panels.get(thumb.dataset.open));
    if (!allowed(panels.get(current))) {
      const first = [...panels.values()].find(allowed);
      if (first) show(first.dataset.number);
    }
  });
  for (const button of gallery.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => {
      const open = [...panels].filter(([name, panel]) => allowed(panel) || name === current).map(([name]) => name);
      const next = open.indexOf(current) + Number(button.dataset.step);
      show(open[(next + open.length) % open.length]);
    });
  }
  for (const thumb of thumbs) {
    thumb.addEventListener("click", () => {
      show(thumb.dataset.open);
      find(".controls").scrollIntoView({ block: "start" });
      panels.get(current).focus({ preventScroll: true });
    });
  }
  for (const [, panel] of panels) {
    for (const button of panel.querySelectorAll("[data-pick]")) {
      button.addEventListener("click", () => { pick(panel, button.dataset.pick); say(); });
    }
  }
  const followed = () => {
    const number = /^#graph-(\d+)$/.exec(location.hash)?.[1];
    if (number && panels.has(number)) {
      show(number);
      panels.get(number).scrollIntoView({ block: "start" });
      panels.get(number).focus({ preventScroll: true });
    }
  };
  window.addEventListener("hashchange", followed);
  show(current);
  followed();
}
