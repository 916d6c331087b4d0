// Targets instead of prices: what keeps them at the least cost, the frontier of cost against errors, what errors would
// have to be worth.

import { Refusal, amount, ask, counted, el, later, latest, number, percent, svg, working } from "./dom.js";
import { state } from "./state.js";
import { checkTyped } from "./typed.js";

const fetchEdges = latest((signal, about) => ask("frontier", { problem: state.model.problem, ...(about ? { state: about } : {}) }, { signal }));
const fetchLower = latest((signal, about) => ask("frontier", { problem: state.model.problem, state: about, lower_set: true }, { signal }));
const fetchAnswer = latest((signal, body, texts) => {
  for (const [kind, text] of texts) {
    try {
      checkTyped(text, kind === "spend" ? "number" : "probability");
    } catch (error) {
      throw new Refusal({ message: `target ${kind}: ${error.message}`, field: kind });
    }
  }
  return ask("target", body, { signal });
});

// What was asked for of each model, as long as the page is open: texts by kind, and the state they are about.
const asked = new Map();

const ROWS = [
  { kind: "sensitive", label: "Sensitive, at least", about: true, example: "99%" },
  { kind: "miss", label: "Missed of all cases, at most", about: true, example: "1 in 1,000" },
  { kind: "specific", label: "Specific, at least", about: true, example: "95%" },
  { kind: "false-alarm", label: "False alarms of all cases, at most", about: true, example: "2%" },
  { kind: "wrong", label: "Wrong decisions, at most", example: "5%" },
  { kind: "spend", label: "Spent on tests on average, at most", example: "40" },
];
const ERROR = { miss: "cases missed", "false-alarm": "false alarms", wrong: "wrong decisions" };

export async function showTarget() {
  const { problem } = state.model;
  const found = await fetchEdges(asked.get(problem)?.state);
  if (!found) return null;
  if (!asked.has(problem)) asked.set(problem, { state: found.state, texts: fromModel(found) });
  const mine = asked.get(problem);
  const places = {}; // moves the slider of a kind to a value
  const answer = el("div", { id: "target-answer", class: "column", "aria-live": "polite" });
  const charts = el("div", { class: "column charts" });
  const all = mine.state ? lowerBox(mine) : null;
  const draw = (reply) => charts.replaceChildren(...found.frontiers.map((edge) => edgeBox(edge, reply)), ...(all ? [all] : []));
  const update = async () => {
    draw(null);
    const texts = Object.entries(mine.texts).filter(([, text]) => text.trim());
    if (!texts.length) {
      answer.replaceChildren(el("section", { class: "box" }, el("h2", {}, "What keeps your targets"),
        el("p", {}, "Set a target, and the cheapest pathway that keeps it stands here.")));
      return;
    }
    answer.replaceChildren(el("section", { class: "box" }, working(null, "Working it out …")));
    const body = { problem, trees: true, ...(mine.state ? { state: mine.state } : {}),
      ...Object.fromEntries(texts.map(([kind, text]) => [kind.replace("-", "_"), text])) };
    try {
      const reply = await fetchAnswer(body, texts);
      if (!reply || !answer.isConnected) return;
      answer.replaceChildren(answerBox(reply));
      for (const { kind, value } of reply.targets) places[kind]?.(value);
      draw(reply);
    } catch (error) {
      answer.replaceChildren(el("section", { class: "box" }, el("h2", {}, "These targets cannot be kept"),
        el("p", { class: "said bad", role: "alert", "data-refused": error.field ?? "" }, sentence(error.message))));
    }
  };
  const soon = later(350, update);
  const content = el("div", { class: "whatif target" },
    formBox(found, mine, soon, places), answer, charts);
  return { content, start: update };
}

const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

// Targets that stand in the model, where they are about the one state that the form is about.
function fromModel({ targets, state: about }) {
  const fitting = targets.filter((one) => !one.state || one.state === about);
  return Object.fromEntries(fitting.map(({ kind, value }) => [kind, kind === "spend" ? String(value) : `${Number((100 * value).toPrecision(10))}%`]));
}

function formBox(found, mine, soon, places) {
  const rows = ROWS.filter(({ about }) => !about || mine.state);
  const choose = el("label", { class: "row wrap" }, el("span", {}, "About"),
    el("select", { id: "target-state", onchange: ({ target }) => {
      mine.state = target.value || null;
      for (const { kind, about } of ROWS) if (about) delete mine.texts[kind];
      import("./app.js").then(({ redraw }) => redraw());
    } }, found.state === null || found.states.length > 2 ? el("option", { value: "" }, "every state") : null,
    found.states.map((name) => el("option", { value: name, selected: name === mine.state }, name))));
  choose.querySelector("select").value = mine.state ?? "";
  return el("section", { class: "box" }, el("h2", {}, "Targets"), choose, rows.map((row) => slider(row, found, mine, soon, places)),
    el("p", { class: "quiet" }, "Written as 0.001, 0.1%, 1 in 1,000 or 3 per 10,000; empty for no target. What has a target has no price; what has none keeps the model's."));
}

// How far a slider goes: shares from 50% on where more is better, else from none to what the cheapest plan leaves.
function reach(kind, found) {
  const points = found.frontiers.flatMap((edge) => edge.points.map((point) => ({ ...point, kind: edge.kind })));
  if (kind === "spend") return { low: 0, high: Math.max(...points.map(({ numbers }) => numbers.spend)) || 1 };
  if (kind === "sensitive" || kind === "specific") return { low: 0.5, high: 1 };
  const same = points.filter((point) => point.kind === kind).map(({ share }) => share);
  const every = points.map(({ numbers }) => numbers.wrong);
  return { low: 0, high: Math.max(...(same.length ? same : every)) || 1 };
}

function slider({ kind, label, example }, found, mine, soon, places) {
  const { low, high } = reach(kind, found);
  const square = kind !== "spend" && low === 0; // small shares matter most
  const unit = kind === "spend" ? state.model.reward_unit : "";
  const id = `target-${kind}`;
  const place = (value) => Math.round(1000 * (square ? Math.sqrt(Math.max(0, value) / high) : (value - low) / (high - low)));
  const shown = (value) => (kind === "spend" ? String(Number(value.toPrecision(3))) : `${Number((100 * value).toPrecision(3))}%`);
  const text = el("input", { type: "text", id, value: mine.texts[kind] ?? "", placeholder: example, autocomplete: "off", oninput: () => set(text.value, false) });
  const range = el("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": `${label}, slider`,
    oninput: () => {
      const way = Number(range.value) / 1000;
      set(shown(square ? high * way * way : low + (high - low) * way), true);
    } });
  const clear = el("button", { type: "button", class: "small", "aria-label": `No target: ${label}`, onclick: () => set("", true) }, "none");
  const set = (value, both) => {
    mine.texts[kind] = value;
    if (both) text.value = value;
    clear.disabled = !value;
    soon();
  };
  range.value = kind === "spend" || !low ? 1000 : 0; // where a target asks for little
  places[kind] = (value) => { if (document.activeElement !== range) range.value = place(value); };
  clear.disabled = !mine.texts[kind];
  return el("div", { class: "slider aim" }, el("label", { class: "name", for: id }, `${label}${unit ? `, ${unit}` : ""}`),
    el("span", { class: "track" }, range), el("span", { class: "row" }, text, clear));
}

// What tells the plans of a mix apart: a letter, as long as there are letters.
function letter(i) {
  return i < 26 ? String.fromCharCode(65 + i) : String(i + 1);
}

function answerBox(reply) {
  const [first, ...others] = reply.words;
  const mixed = reply.mixture.length > 1;
  const rows = [...(mixed ? reply.mixture.map((part, i) => [`plan ${letter(i)}, ${percent(part.share)} of cases`, part.numbers]) : []),
    [mixed ? "the mix" : "one plan", mixed ? reply.together : reply.mixture[0].numbers],
    ...(mixed && reply.certain ? [["without chance", reply.certain.numbers]] : []), ["by the model's own prices", reply.plain.numbers]];
  const aims = reply.targets.map((one, i) => ({ ...one, i })).filter(({ kind }) => kind !== "spend");
  const head = ["", "first", "tests", ...aims.map(({ kind, state: about }) => `${kind.replace("-", " ")}${about ? ` (${about})` : ""}`), "wrong", "counted"];
  const cells = (numbers) => [numbers.first || "–", number(numbers.spend), ...aims.map(({ i }) => percent(numbers.reached[i])), percent(numbers.wrong), number(numbers.cost)];
  const trees = [...reply.mixture.map((part, i) => [mixed ? `Plan ${letter(i)}` : "The pathway", part]),
    ...(mixed && reply.certain ? [["Without chance", reply.certain]] : [])];
  return el("section", { class: "box", "data-met": reply.mixture.length }, el("h2", {}, "What keeps your targets"),
    el("p", { class: "quiet" }, first), others.map((words) => el("p", {}, words)),
    el("div", { class: "scroll" }, el("table", { class: "stack" },
      el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, rows.map(([name, numbers]) => el("tr", { class: name === "the mix" || name === "one plan" ? "chosen" : null },
        el("th", { scope: "row" }, name), cells(numbers).map((cell, i) => el("td", { "data-label": head[i + 1] }, cell))))))),
    el("p", { class: "quiet" }, `Amounts in ${reply.reward_unit} per case. Counted: ${reply.minimised}.`),
    trees.map(([name, part]) => el("details", { class: "group" }, el("summary", {}, `${name}: the pathway`),
      el("pre", { class: "numbers", tabindex: 0 }, part.pathway))));
}

function edgeBox(edge, reply) {
  const unit = edge.reward_unit;
  const error = ERROR[edge.kind];
  const prices = ({ low, high }) => (high === null ? `${number(low)} and more` : `${number(low)} to ${number(high)}`);
  const table = el("details", { class: "group" }, el("summary", {}, `The ${edge.points.length} corners as numbers`),
    el("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "The corners as numbers" }, el("table", {},
      el("thead", {}, el("tr", {}, [error, "counted", "tests", "first", `cheapest where one costs, ${unit}`].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, edge.points.map((point) => el("tr", {}, el("th", { scope: "row" }, percent(point.share)), el("td", {}, number(point.cost)),
        el("td", {}, number(point.numbers.spend)), el("td", {}, point.numbers.first), el("td", {}, prices(point))))))));
  return el("section", { class: "box", "data-edge": edge.kind },
    el("h2", {}, `Cost against ${error}${edge.state ? ` (${edge.state})` : ""}`), chart(edge, aim(edge, reply), reply),
    el("p", { class: "quiet" }, `Every pathway and every mix of pathways lies on the line or above it; dots are its corners${edge.complete ? "" : " (there are more)"}.${edge.whole ? "" : ` Pathways have at most ${counted(edge.depth, "test")} here.`} Counted: ${edge.counts}. Both scales are those of square roots.`),
    table);
}

// Tests, misses and false alarms together, worked out when it is asked for: a dot for each corner, darker for dearer tests.
function lowerBox(mine) {
  const place = el("div", {});
  const show = async () => {
    place.replaceChildren(working(null, "Working it out …"));
    try {
      const reply = await fetchLower(mine.state);
      if (reply) place.replaceChildren(lowerChart(reply.lower_set));
    } catch (error) {
      place.replaceChildren(el("p", { class: "said bad", role: "alert" }, sentence(error.message)));
    }
  };
  return el("section", { class: "box" }, el("h2", {}, "Tests, misses and false alarms together"),
    el("p", {}, el("button", { type: "button", class: "small", id: "lower-set", onclick: show }, "Work out all corners"), " may take some seconds."), place);
}

function lowerChart({ corners, complete }) {
  const [width, height, left, bottom, top, right] = [640, 340, 84, 50, 16, 24];
  const most = [0, 1].map((i) => round(Math.max(...corners.map(({ reached }) => reached[i]))));
  const dearest = Math.max(...corners.map(({ spend }) => spend)) || 1;
  const x = (value) => left + Math.sqrt(value / most[0]) * (width - left - right);
  const y = (value) => height - bottom - Math.sqrt(value / most[1]) * (height - bottom - top);
  const unit = state.model.reward_unit;
  return el("div", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "data-corners": corners.length, "aria-label": `False alarms against misses: ${corners.length} corners, darker for dearer tests` },
    [0, 0.05, 0.2, 0.5, 1].map((part) => [svg("line", { x1: x(part * most[0]), x2: x(part * most[0]), y1: top, y2: height - bottom, class: "gridline" }),
      svg("text", { x: x(part * most[0]), y: height - bottom + 18, class: "tick middle" }, percent(part * most[0])),
      svg("line", { x1: left, x2: width - right, y1: y(part * most[1]), y2: y(part * most[1]), class: "gridline" }),
      svg("text", { x: left - 6, y: y(part * most[1]) + 4, class: "tick end" }, percent(part * most[1]))]),
    corners.map(({ spend, reached, first }) => svg("circle", { cx: x(reached[0]), cy: y(reached[1]), r: 4, class: "point", "fill-opacity": 0.15 + 0.85 * (spend / dearest), style: { stroke: "var(--main)" } },
      svg("title", {}, `tests ${amount(spend, unit)}: missed ${percent(reached[0])}, false alarms ${percent(reached[1])}, first ${first}`))),
    svg("text", { x: (left + width - right) / 2, y: height - 8, class: "axis middle" }, "cases missed, share of all cases"),
    svg("text", { x: 15, y: (height - bottom) / 2, class: "axis middle", transform: `rotate(-90 15 ${(height - bottom) / 2})` }, "false alarms")),
  el("p", { class: "quiet" }, `${corners.length} corners${complete ? "" : " (there are more)"}; the darker a dot, the dearer its tests, up to ${amount(dearest, unit)} per case. What can be had lies on the faces between them or above.`));
}

// The target line of this chart as a share of all cases, where there is one.
function aim(edge, reply) {
  if (!reply) return null;
  const kinds = { miss: ["miss", "sensitive"], "false-alarm": ["false-alarm", "specific"], wrong: ["wrong"] }[edge.kind];
  const limits = reply.targets.filter(({ kind, state: about }) => kinds.includes(kind) && about === edge.state)
    .map(({ limit }) => limit);
  return limits.length ? Math.min(...limits) : null;
}

function chart(edge, limit, reply) {
  const [width, height, left, bottom, top, right] = [640, 340, 84, 50, 16, 24];
  const marks = [...edge.points, edge.plain];
  const most = { x: round(Math.max(...marks.map((one) => one.share), limit || 0)), y: round(Math.max(...marks.map((one) => one.cost))) };
  const x = (value) => left + Math.sqrt(Math.max(0, Math.min(value / most.x, 1))) * (width - left - right);
  const y = (value) => height - bottom - Math.sqrt(Math.max(0, Math.min(value / most.y, 1))) * (height - bottom - top);
  const steps = [0, 0.05, 0.2, 0.5, 1];
  const line = edge.points.flatMap((one, i) => {
    const next = edge.points[i + 1];
    const ways = next ? [...Array(16).keys()].map((k) => k / 16) : [0];
    return ways.map((way) => `${x(one.share + way * ((next?.share ?? 0) - one.share))},${y(one.cost + way * ((next?.cost ?? 0) - one.cost))}`);
  });
  const about = `${ERROR[edge.kind]}, share of all cases`;
  const told = (one) => `${percent(one.share)}: ${amount(one.cost, edge.reward_unit)}, first ${one.numbers.first}`;
  const found = reply && limit !== null && reply.targets.length === 1;
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `Cost against ${about}: ${edge.points.length} corners` },
    steps.map((part) => [svg("line", { x1: x(part * most.x), x2: x(part * most.x), y1: top, y2: height - bottom, class: "gridline" }),
      svg("text", { x: x(part * most.x), y: height - bottom + 18, class: "tick middle" }, percent(part * most.x)),
      svg("line", { x1: left, x2: width - right, y1: y(part * most.y), y2: y(part * most.y), class: "gridline" }),
      svg("text", { x: left - 6, y: y(part * most.y) + 4, class: "tick end" }, number(part * most.y))]),
    svg("polyline", { points: line.join(" "), class: "line" }),
    edge.points.map((one) => svg("circle", { cx: x(one.share), cy: y(one.cost), r: 4, class: "point" }, svg("title", {}, told(one)))),
    limit !== null ? [svg("line", { x1: x(limit), x2: x(limit), y1: top, y2: height - bottom, class: "aimed" }),
      svg("text", { x: x(limit) + (x(limit) > width / 2 ? -6 : 6), y: top + 12, class: `tick ${x(limit) > width / 2 ? "end" : ""}` }, "your target")] : null,
    svg("circle", { cx: x(edge.plain.share), cy: y(edge.plain.cost), r: 9, class: "own" }, svg("title", {}, `by the model's own prices, ${told(edge.plain)}`)),
    svg("text", { x: x(edge.plain.share) + (x(edge.plain.share) > 0.7 * width ? -13 : 13), y: y(edge.plain.cost) - 9, class: x(edge.plain.share) > 0.7 * width ? "tick end" : "tick" }, "the model's prices"),
    found ? svg("rect", { x: x(limit) - 6, y: y(reply.together.cost) - 6, width: 12, height: 12, class: "point best" }, svg("title", {}, "the cheapest mix")) : null,
    svg("text", { x: (left + width - right) / 2, y: height - 8, class: "axis middle" }, about),
    svg("text", { x: 15, y: (height - bottom) / 2, class: "axis middle", transform: `rotate(-90 15 ${(height - bottom) / 2})` }, `counted, ${edge.reward_unit} per case`));
}

// The next number of the kind 1, 2, 5.
function round(value) {
  if (!(value > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((part) => part * size).find((one) => one >= value * (1 - 1e-12));
}
