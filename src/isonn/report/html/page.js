"use strict";
// A gallery holds the panels of its first hundred graphs; the others are packed in blocks of a hundred and unpacked when asked for.
const PAGE = 100;

const unpack = async (text) => {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
};

for (const gallery of document.querySelectorAll("[data-gallery]")) {
  const find = (selector) => gallery.querySelector(selector);
  const index = JSON.parse(find("[data-index]").textContent); // [number, name, predicted, right, viewBox, kind]
  const blocks = [...gallery.querySelectorAll("script[data-block]")];
  const place = new Map(index.map(([number], i) => [String(number), i]));
  const holder = find("[data-panels]"), thumbs = find("[data-thumbs]");
  const graph = find("[data-graph]"), filter = find("[data-filter]"), colour = find("[data-colour]"), paged = find("[data-page]");
  const panels = new Map([...holder.children].map((panel) => [place.get(panel.dataset.number), panel]));
  let allowed = index.map((_, i) => i), page = 0, current = 0;

  const make = (tag, text, attributes = {}) => {
    const element = document.createElement(tag);
    element.textContent = text;
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const paint = (root) => {
    for (const svg of root.querySelectorAll("svg.isonn")) svg.classList.toggle("importance", colour.value === "importance");
  };

  const need = async (wanted) => {
    for (const number of new Set(wanted.filter((i) => !panels.has(i)).map((i) => Math.floor(i / PAGE) - 1))) {
      const made = await unpack(blocks[number].textContent);
      made.forEach((text, i) => {
        const box = document.createElement("div");
        box.innerHTML = text; // written and escaped by isonn
        panels.set((number + 1) * PAGE + i, box.firstElementChild);
      });
    }
  };

  const pick = (panel, match) => {
    for (const part of panel.querySelectorAll("svg [data-m]")) part.classList.toggle("on", part.dataset.m === match);
    for (const button of panel.querySelectorAll("[data-pick]")) {
      const on = button.dataset.pick === match;
      button.setAttribute("aria-pressed", on);
      button.closest("li, tr").classList.toggle("on", on);
    }
    say();
  };
  const say = () => {
    const panel = panels.get(current), row = panel.querySelector(".on .what strong, tr.on .place");
    find("[data-status]").textContent = `${panel.getAttribute("aria-label")}${row ? `, highlighted: ${row.textContent}` : ""}`;
  };

  const showPage = async (number) => {
    page = number;
    const here = allowed.slice(page * PAGE, (page + 1) * PAGE);
    await need(here);
    holder.replaceChildren(...here.map((i) => panels.get(i)));
    paint(holder);
    graph.replaceChildren(...here.map((i) => make("option", `${index[i][1]}: ${index[i][2]}${index[i][3] === false ? " (wrong)" : ""}`, { value: index[i][0] })));
    if (paged) {
      const count = Math.max(1, Math.ceil(allowed.length / PAGE));
      paged.replaceChildren(...Array.from({ length: count }, (_, i) => make("option", `${i * PAGE + 1} to ${Math.min((i + 1) * PAGE, allowed.length)}`, { value: i })));
      paged.value = String(page);
    }
    thumbs?.replaceChildren(...here.map((i) => {
      const [number, name, predicted, right, box, kind] = index[i];
      const wrong = right === false;
      const button = make("button", "", { type: "button", class: wrong ? "thumb bad" : "thumb", "data-open": number, "aria-label": `${name}, predicted ${predicted}${wrong ? ", wrong" : ""}` });
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", box);
      svg.setAttribute("class", `isonn ${kind} importance`);
      svg.setAttribute("aria-hidden", "true");
      svg.append(panels.get(i).querySelector("svg.isonn > g").cloneNode(true));
      button.append(svg, make("span", `${name}: ${predicted}${wrong ? " ✗" : ""}`, { dir: "auto" }));
      return button;
    }));
  };

  const show = async (i) => {
    const number = Math.floor(allowed.indexOf(i) / PAGE);
    if (number < 0) return;
    if (number !== page || !holder.contains(panels.get(i))) await showPage(number);
    current = i;
    graph.value = String(index[i][0]);
    for (const panel of holder.children) panel.hidden = panel !== panels.get(i);
    for (const thumb of thumbs?.children ?? []) {
      if (thumb.dataset.open === graph.value) thumb.setAttribute("aria-current", "true");
      else thumb.removeAttribute("aria-current");
    }
    say();
  };

  graph.addEventListener("change", () => show(place.get(graph.value)));
  colour.addEventListener("change", () => paint(gallery));
  paged?.addEventListener("change", async () => { await showPage(Number(paged.value)); show(allowed[page * PAGE]); });
  filter?.addEventListener("change", async () => {
    const fits = ([, , predicted, right]) => filter.value === "" || (filter.value === "wrong" && right === false)
      || (filter.value === "right" && right === true) || filter.value === `=${predicted}`;
    allowed = index.map((row, i) => (fits(row) ? i : -1)).filter((i) => i >= 0);
    await showPage(0);
    show(allowed.includes(current) ? current : allowed[0]);
  });
  for (const button of gallery.querySelectorAll("[data-step]")) {
    button.addEventListener("click", () => {
      const next = allowed.indexOf(current) + Number(button.dataset.step);
      show(allowed[(next + allowed.length) % allowed.length]);
    });
  }
  gallery.addEventListener("click", async (event) => {
    const thumb = event.target.closest("[data-open]"), button = event.target.closest("[data-pick]");
    if (button) pick(button.closest(".panel"), button.dataset.pick);
    if (!thumb) return;
    await show(place.get(thumb.dataset.open));
    find(".controls").scrollIntoView({ block: "start" });
    panels.get(current).focus({ preventScroll: true });
  });

  const followed = async () => {
    const i = place.get(/^#graph-(\d+)$/.exec(location.hash)?.[1]);
    if (i === undefined) return;
    if (!allowed.includes(i)) { if (filter) filter.value = ""; allowed = index.map((_, j) => j); }
    await show(i);
    panels.get(i).scrollIntoView({ block: "start" });
    panels.get(i).focus({ preventScroll: true });
  };
  window.addEventListener("hashchange", followed);
  showPage(0).then(() => show(0)).then(followed);
}
