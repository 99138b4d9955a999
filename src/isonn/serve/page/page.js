// What-if: the server edits, draws and explains; this page sends operations and shows answers.
"use strict";

const at = id => document.getElementById(id);
const state = { models: [], model: null, history: [], shown: -1, chosen: null, joining: null, asked: 0, token: "" };
/** Units in the table; the others are summed. */
const LISTED = 8;

function make(tag, content = "", attributes = {}) {
  const element = document.createElement(tag);
  element.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function button(text, act, attributes = {}) {
  const element = make("button", text, { type: "button", ...attributes });
  element.addEventListener("click", act);
  return element;
}

const signed = value => (value < 0 ? "-" : "+") + Math.abs(value).toFixed(Math.abs(value) < 10 ? 3 : 1);
const percent = share => `${(100 * share).toFixed(1)} %`;
/** What a contribution to a base-10 logarithm does to the number, such as "\u00d7 4.0". */
function factor(logarithm) {
  const size = 10 ** Math.abs(logarithm);
  return `${logarithm < 0 ? "\u00f7" : "\u00d7"} ${size.toFixed(size < 2 ? 2 : size < 10 ? 1 : 0)}`;
}
/** A number with the unit of the explained column. */
function measured(value) {
  const { unit } = state.model.outputs[at("explained").value];
  return `${Number(value.toPrecision(3))}${unit ? ` ${unit}` : ""}`;
}
const numeric = () => state.model.predicts === "numbers";
const molecules = () => state.model.reads === "smiles";
const current = () => state.history[state.shown];

// Requests.

async function call(path, body) {
  const headers = { "content-type": "application/json" };
  if (state.token) headers.authorization = `Bearer ${state.token}`;
  const options = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(path, options);
  const answer = await response.json();
  if (response.status === 401) {
    at("token-form").hidden = false;
    at("token").focus();
  }
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function say(error) {
  at("problem").textContent = error ? error.message : "";
  at("problem").hidden = !error;
}

/** The probability of each class or label, or the value of each column. */
const answersOf = answer => answer.probabilities || answer.values;

/** The graph of an answer, as a request takes it. */
const graphOf = answer => (answer.smiles ? { smiles: answer.smiles } : { graphs: [answer.graph] });

/** The confounds of the model's example, for models that need some. */
const subject = () => (state.model.example.confounds ? { confounds: state.model.example.confounds } : {});

async function explain(graph, edit, words) {
  const asked = ++state.asked;
  const start = performance.now();
  const chosen = state.model.outputs[at("explained").value]; // none: the server explains the predicted class
  const wanted = { ...(chosen ? { label: chosen.value } : {}), ...subject() };
  try {
    const answer = await call("v1/whatif", { model: state.model.name, ...graph, ...wanted, ...(edit ? { edit } : {}) });
    if (asked !== state.asked) return; // a later request was sent meanwhile
    say(null);
    state.history = state.history.slice(0, state.shown + 1);
    state.history.push({ answer, words, label: at("explained").value });
    show(state.history.length - 1);
    const took = Math.round(performance.now() - start);
    at("status").textContent = `${words}. Answered in ${took} ms.`;
    at("status").dataset.ms = String(performance.now() - start);
  } catch (error) {
    if (asked === state.asked) say(error);
  }
}

const edit = (operation, words) => explain(graphOf(current().answer), operation, words);

// The answer.

function show(number) {
  state.shown = number;
  const { answer, label } = current();
  at("explained").value = label;
  at("work").hidden = at("past").hidden = false;
  at("undo").disabled = number < 1;
  if (molecules()) at("smiles").value = answer.smiles;
  else at("graph").value = JSON.stringify(answer.graph);
  draw(answer);
  const confounds = Object.entries(subject().confounds || {}).map(([name, [value]]) => `${name} ${typeof value === "number" ? Number(value.toPrecision(3)) : value}`);
  const assumed = confounds.length ? [`Confounds: ${confounds.join(", ")}`] : [];
  at("about").textContent = [answer.about, ...assumed, ...(answer.warnings || [])].join(". ");
  at("answer").replaceChildren(...verdict(answer, number));
  at("classes").textContent = allClasses(answer);
  waterfall(answer);
  tell();
  choose(null);
  trust(answer);
  at("suggestions").replaceChildren();
}

function verdict(answer, number) {
  const value = answersOf(answer)[answer.explained];
  const last = number > 0 ? state.history[number - 1].answer : null;
  const before = last && last.explained === answer.explained ? answersOf(last)[answer.explained] : null;
  const strong = make("strong", numeric() ? measured(value) : percent(value));
  const name = numeric() ? (answer.explained === "0" ? "predicted" : answer.explained) : `probability of ${spoken(answer.explained)}`;
  if (before === null) return [strong, ` ${name}`];
  const change = numeric() ? `${value < before ? "" : "+"}${measured(value - before)}` : `${signed(100 * (value - before))} points`;
  return [strong, ` ${name} `, make("span", `(${change})`, { class: "muted" })];
}

/** The probabilities of three classes or more, the most likely first; of two, one says both. */
function allClasses(answer) {
  if (state.model.predicts !== "classes" || state.model.outputs.length < 3) return "";
  const sorted = Object.entries(answer.probabilities).sort((a, b) => b[1] - a[1]);
  return sorted.map(([name, share]) => `${spoken(name)} ${percent(share)}`).join(", ");
}

const spoken = name => (/^-?\d+$/.test(name) ? `class ${name}` : name);

/** The name of a class; of a label, whether it is present. */
function nameOfValue(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const output = state.model.outputs.find(one => one.value === value);
  return spoken(output ? output.name : String(value));
}

function predicted(answer) {
  if (numeric()) return measured(answersOf(answer)[answer.explained]);
  if (typeof answer.predicted !== "object") return nameOfValue(answer.predicted);
  return state.model.outputs.filter(one => answer.predicted[one.name]).map(one => spoken(one.name)).join(", ") || "no label";
}

function waterfall(answer) {
  const rest = answer.units.slice(LISTED);
  const rows = answer.units.slice(0, LISTED).map(unit => ({ ...unit, name: unit.text }));
  const sum = parts => parts.reduce((total, part) => total + part.contribution, 0);
  if (rest.length) rows.push({ name: `${rest.length} other parts`, contribution: sum(rest), nodes: [] });
  for (const [words, parts] of [["what is absent", answer.absent], [`whole ${molecules() ? "molecule" : "graph"}`, answer.terms]]) {
    const strongest = [...parts].sort((a, b) => Math.abs(b.contribution) - Math.abs(a.contribution)).slice(0, 2);
    if (sum(parts)) rows.push({ name: `${words} (${strongest.map(one => one.name).join(", ")})`, contribution: sum(parts) });
  }
  let level = answer.base;
  const levels = [0, level, answer.score];
  for (const row of rows) levels.push(row.from = level, level += row.contribution);
  const low = Math.min(...levels), width = Math.max(...levels) - low || 1;
  const place = value => 100 * (value - low) / width;
  const bar = (from, to) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", "0 0 100 10");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    const rect = document.createElementNS(svg.namespaceURI, "rect");
    const shape = { x: Math.min(place(from), place(to)), y: 1, width: Math.max(Math.abs(place(to) - place(from)), .6), height: 8 };
    for (const [name, value] of Object.entries(shape)) rect.setAttribute(name, value);
    rect.setAttribute("class", to >= from ? "pos" : "neg");
    const zero = document.createElementNS(svg.namespaceURI, "path");
    zero.setAttribute("d", `M${place(0)} 0V10`);
    zero.setAttribute("class", "zero");
    svg.append(rect, zero);
    return svg;
  };
  const line = (name, from, to, value, attributes = {}) =>
    make("tr", [make("td", name), make("td", bar(from, to)), make("td", value, { class: "number" })], attributes);
  const whole = value => (answer.logarithm ? measured(10 ** value) : signed(value));
  const part = answer.logarithm ? factor : signed;
  const body = [line("base: without any part", 0, answer.base, whole(answer.base), { class: "whole" })];
  for (const row of rows) {
    let name = row.name;
    if ((row.nodes || []).length) {
      name = button(row.name, () => light(row.nodes), { "aria-label": `highlight ${row.name}` });
      name.addEventListener("mouseenter", () => light(row.nodes));
      name.addEventListener("focus", () => light(row.nodes));
    }
    body.push(line(name, row.from, row.from + row.contribution, part(row.contribution)));
  }
  body.push(line(answer.logarithm ? "predicted" : "score", 0, answer.score, whole(answer.score), { class: "whole" }));
  at("parts-h").textContent = answer.logarithm ? "What multiplies to the value" : "What adds up to the score";
  at("scale").hidden = !answer.logarithm;
  at("waterfall").tBodies[0].replaceChildren(...body);
  at("legend-for").textContent = numeric() ? "raises the value" : `speaks for ${spoken(answer.explained)}`;
  at("legend-against").textContent = numeric() ? "lowers it (dashed)" : "speaks against it (dashed)";
}

function light(nodes) {
  for (const area of at("drawing").querySelectorAll(".area")) {
    area.classList.toggle("lit", area.dataset.node !== undefined && nodes.includes(Number(area.dataset.node)));
  }
}

function trust(answer) {
  const entries = [];
  const entry = (name, content) => entries.push(make("dt", name), make("dd", content));
  const percentage = `${Math.round(100 * answer.coverage)} %`;
  if (answer.interval) entry(`${percentage} interval`, answer.interval.map(value => (value === null ? "unbounded" : measured(value))).join(" to "));
  const apart = answer.set?.length && state.model.predicts === "classes" && !answer.set.includes(answer.predicted);
  if (answer.set) entry(`${percentage} set`, (answer.set.map(nameOfValue).join(", ") || "none fits") + (apart ? "; each class is covered by itself" : ""));
  if (answer.domain) {
    entry("Domain", answer.domain.text);
    if (answer.domain.neighbours.length) {
      const known = value => (value === null ? "unknown" : numeric() ? measured(value) : nameOfValue(value));
      entry("Nearest cases", make("ul", answer.domain.neighbours.map(one =>
        make("li", `${one.id}: ${known(Array.isArray(one.value) ? one.value[at("explained").value] : one.value)}, similarity ${one.similarity.toFixed(2)}`))));
    }
  }
  at("trust").replaceChildren(...entries);
}

// The drawing: one tab stop, arrow keys move between its nodes and edges.

function draw(answer) {
  const holder = document.createElement("template");
  holder.innerHTML = answer.svg;
  const svg = holder.content.firstElementChild;
  at("drawing").replaceChildren(svg);
  const areas = [...svg.querySelectorAll(".area")];
  if (!areas.length) return;
  svg.setAttribute("role", "group"); // an image may not hold buttons
  svg.setAttribute("aria-label", `Structure: ${answer.about}`);
  areas.sort((a, b) => Number(a.dataset.node === undefined) - Number(b.dataset.node === undefined));
  areas.forEach((area, i) => {
    area.setAttribute("role", "button");
    area.setAttribute("tabindex", i ? "-1" : "0");
    area.setAttribute("aria-label", nameOf(area, answer));
    area.addEventListener("click", () => choose(area));
  });
  svg.addEventListener("keydown", event => move(event, areas));
}

function nameOf(area, answer) {
  if (area.dataset.node !== undefined) return answer.names[area.dataset.node];
  const [a, b] = area.dataset.edge.split(" ");
  return `${molecules() ? "bond" : "edge"} between ${answer.names[a]} and ${answer.names[b]}`;
}

function move(event, areas) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const place = areas.indexOf(event.target);
  if (step && place >= 0) {
    const next = areas[(place + step + areas.length) % areas.length];
    event.target.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
    event.preventDefault();
  } else if (["Enter", " "].includes(event.key) && place >= 0) {
    choose(event.target);
    event.preventDefault();
  }
}

function choose(area) {
  const node = area && area.dataset.node !== undefined ? Number(area.dataset.node) : null;
  if (state.joining !== null && node !== null && node !== state.joining) {
    const pair = [state.joining, node];
    state.joining = null;
    edit(molecules() ? { op: "bond", atoms: pair, order: 1 } : { op: "edge", nodes: pair }, `Joined ${names(pair)}`);
    return;
  }
  state.joining = null;
  state.chosen = area;
  for (const other of at("drawing").querySelectorAll(".area")) other.classList.toggle("chosen", other === area);
  at("tools").replaceChildren(...tools(area));
}

const names = pair => pair.map(node => current().answer.names[node]).join(" and ");

/** The edits that the chosen atom, node, bond or edge allows. */
function tools(area) {
  const what = molecules() ? ["an atom or a bond", "atom"] : ["a node or an edge", "node"];
  if (!area) {
    const hint = at("drawing").querySelector(".area") ? `Choose ${what[0]} to change it.` : "";
    return [make("p", hint, { class: "muted" }), ...(molecules() ? [] : graphTools(null))];
  }
  const name = nameOf(area, current().answer);
  const title = make("p", make("strong", name));
  if (area.dataset.edge !== undefined) {
    const pair = area.dataset.edge.split(" ").map(Number);
    if (!molecules()) return [title, button("Delete", () => edit({ op: "edge", nodes: pair, weight: 0 }, `Deleted the ${name}`), { "data-delete": "" }), ...graphTools(null)];
    const order = (text, value) => button(text, () => edit({ op: "bond", atoms: pair, order: value }, `${text} ${name}`), { "data-key": value });
    return [title, order("Single", 1), order("Double", 2), order("Triple", 3),
      button("Delete", () => edit({ op: "bond", atoms: pair, order: 0 }, `Deleted the ${name}`), { "data-delete": "" })];
  }
  const node = Number(area.dataset.node);
  const join = button(molecules() ? "Bond to..." : "Join to...", () => {
    state.joining = node;
    at("tools").prepend(make("p", `Choose the other ${what[1]}.`));
  });
  if (!molecules()) return [title, button("Delete", () => edit({ op: "delete", node }, `Deleted ${name}`), { "data-delete": "" }), join, ...graphTools(node)];
  const elements = state.model.elements.map(element =>
    button(element, () => edit({ op: "element", atom: node, element }, `${name} became ${element}`), { "data-key": element.toLowerCase() }));
  const group = choice("Group", state.model.groups);
  const add = button("Attach", () => edit({ op: "attach", atom: node, group: group.select.value }, `Attached ${group.select.value} to ${name}`));
  const remove = button("Delete", () => edit({ op: "delete", atom: node }, `Deleted ${name}`), { "data-delete": "" });
  return [title, ...elements, remove, join, group.label, add];
}

/** Edits of other graphs that need no click on the drawing: labels, new nodes, and edges by their numbers. */
function graphTools(node) {
  const parts = [];
  const labels = state.model.node_labels;
  const label = choice("Label", labels);
  const labelled = labels.length ? { label: null } : {};
  const chosen = () => (labels.length ? { label: labels[label.select.selectedIndex] } : labelled);
  if (labels.length) parts.push(label.label);
  if (node !== null && labels.length) parts.push(button("Set label", () => edit({ op: "label", node, ...chosen() }, `Relabelled node ${node}`)));
  const where = node === null ? {} : { node };
  if (state.model.reads === "graphs") parts.push(button(node === null ? "Add a node" : "Add a neighbour", () => edit({ op: "add", ...where, ...chosen() }, "Added a node")));
  const [from, to, weight] = ["From node", "To node", "Weight"].map((text, i) => {
    const input = make("input", "", { type: "number", step: i < 2 ? "1" : "any", value: i < 2 ? String(i) : "1" });
    parts.push(make("label", [text, input]));
    return input;
  });
  parts.push(button("Set edge", () => edit({ op: "edge", nodes: [Number(from.value), Number(to.value)], weight: Number(weight.value) },
    `Set the edge between ${from.value} and ${to.value}`)));
  return parts;
}

function choice(text, values) {
  const select = make("select", values.map(value => make("option", String(value))));
  return { select, label: make("label", [text, select]) };
}

// History.

function tell() {
  const rows = state.history.map(({ answer, words }, i) => {
    const text = answer.smiles || answer.about;
    const value = answersOf(answer)[answer.explained];
    const cells = [make("td", button(text, () => show(i))), make("td", words), make("td", predicted(answer)),
      make("td", numeric() ? measured(value) : percent(value), { class: "number" }), make("td", signed(answer.score), { class: "number" })];
    return make("tr", cells, i === state.shown ? { class: "on", "aria-current": "true" } : {});
  });
  at("history").tBodies[0].replaceChildren(...rows);
  at("history").classList.toggle("of-numbers", numeric()); // whose answer is what is predicted
}

function table() {
  const explained = [...new Set(state.history.map(({ answer }) => answer.explained))];
  const heads = ["structure", "edit", "predicted", explained.length > 1 ? "answer" : `answer (${explained[0]})`, "score"];
  const rows = state.history.map(({ answer, words }) => [answer.smiles || JSON.stringify(answer.graph), words,
    predicted(answer), answersOf(answer)[answer.explained], answer.score]);
  return [heads, ...rows].map(row => row.join("\t")).join("\n") + "\n";
}

async function copy() {
  const text = table();
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) { // no permission, or no https
    const area = make("textarea", text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  at("copied").textContent = `${state.history.length} rows copied.`;
}

// Suggestions.

async function suggest() {
  at("suggest-button").disabled = true;
  at("suggestions").replaceChildren(make("li", "Searching...", { class: "muted" }));
  const shown = state.shown;
  const goal = numeric() ? Number(at("goal-number").value) : state.model.outputs[at("goal").value].value;
  const body = { model: state.model.name, ...graphOf(current().answer) };
  if (state.model.predicts === "classes") body.goal = goal;
  else Object.assign(body, { goal: numeric() ? goal : 0, label: state.model.outputs[numeric() ? at("explained").value : at("goal").value].value });
  try {
    const answer = await call("v1/suggest", body);
    if (shown !== state.shown) return;
    const items = answer.suggestions.map(one => {
      const text = one.edits.join(", then ");
      const value = numeric() ? measured(one.answer) : percent(one.answer);
      const similar = one.similarity === null ? "" : `, similarity ${one.similarity.toFixed(2)}`;
      const open = button([make("span", text), make("span", `${numeric() ? "predicted" : "probability of the goal"} ${value}${similar}${one.reached ? "" : ", does not reach the goal"}`, { class: "muted" })],
        () => explain(one.smiles ? { smiles: one.smiles } : { graphs: [one.graph] }, null, text));
      return make("li", open);
    });
    const before = answersOf(current().answer)[current().answer.explained];
    if (!items.length) items.push(make("li", "No small edit moves the prediction to the goal."));
    if (numeric()) items.unshift(make("li", `Goal: at ${goal < before ? "most" : "least"} ${measured(goal)}`, { class: "muted" }));
    if (answer.out_of_domain) items.push(make("li", `Left out: ${answer.out_of_domain} edits out of the model's domain`, { class: "muted" }));
    at("suggestions").replaceChildren(...items);
  } catch (error) {
    at("suggestions").replaceChildren();
    say(error);
  } finally {
    at("suggest-button").disabled = false;
  }
}

// Start.

function use(model, example = true) {
  state.model = model;
  state.history = [];
  state.shown = -1;
  at("smiles-label").hidden = !molecules();
  at("graph-label").hidden = molecules();
  const options = () => model.outputs.map((one, i) => make("option", spoken(one.name), { value: i }));
  const many = model.predicts === "classes" && model.outputs.length > 2;
  at("explained").replaceChildren(...(many ? [make("option", "the predicted class", { value: "" })] : []), ...options());
  at("explained-label").hidden = model.outputs.length < 2;
  at("explained").value = many ? "" : model.predicts === "classes" && model.outputs.length === 2 ? 1 : 0;
  at("suggest").hidden = !model.suggests;
  at("goal").replaceChildren(...options());
  at("goal").hidden = numeric();
  at("goal-number").hidden = !numeric();
  if (model.predicts === "labels") for (const option of at("goal").options) option.textContent = `not ${option.textContent}`;
  if (example) explain(model.example.smiles ? { smiles: model.example.smiles } : model.example, null, "Example");
}

async function start() {
  const given = new URLSearchParams(location.hash.slice(1));
  state.token = given.get("token") || state.token;
  try {
    state.models = (await call("v1/models")).models;
  } catch (error) {
    say(error);
    return;
  }
  say(null);
  at("token-form").hidden = true;
  at("model").replaceChildren(...state.models.map((model, i) => make("option", model.name, { value: i })));
  at("model-label").hidden = state.models.length < 2;
  const smiles = (given.get("smiles") || "").replaceAll(" ", "+"); // an address may hold a + as it is
  const wanted = Math.max(0, state.models.findIndex(model => model.name === given.get("model")));
  at("model").value = wanted;
  use(state.models[wanted], !smiles);
  if (smiles) explain({ smiles }, null, "Given");
}

at("token-form").addEventListener("submit", event => {
  event.preventDefault();
  state.token = at("token").value;
  start();
});
at("form").addEventListener("submit", event => {
  event.preventDefault();
  if (molecules()) return void explain({ smiles: at("smiles").value.trim() }, null, "Typed");
  try {
    explain({ graphs: [JSON.parse(at("graph").value)] }, null, "Typed");
  } catch (error) {
    say(new Error(`The graph is not JSON (${error.message}); correct it.`));
  }
});
at("model").addEventListener("change", () => use(state.models[at("model").value]));
at("explained").addEventListener("change", () => current() && explain(graphOf(current().answer), null, `Explained ${at("explained").selectedOptions[0].textContent}`));
at("undo").addEventListener("click", undo);
at("copy").addEventListener("click", copy);
at("suggest-button").addEventListener("click", suggest);

function undo() {
  if (state.shown < 1) return;
  say(null);
  show(state.shown - 1);
  at("status").textContent = "Taken back.";
}

document.addEventListener("keydown", event => {
  if (event.target.matches("input, textarea, select")) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "z") {
    undo();
    event.preventDefault();
  } else if (event.key === "Escape") {
    choose(null);
  } else if (state.chosen && !event.ctrlKey && !event.metaKey) {
    const keys = ["Delete", "Backspace"].includes(event.key) ? "[data-delete]" : `[data-key="${CSS.escape(event.key.toLowerCase())}"]`;
    at("tools").querySelector(keys)?.click();
  }
});

start();
