// The map of first actions over two uncertain numbers, and the decision curve.

import { el, number, percent, svg } from "./dom.js";
import { shown } from "./uncertain.js";

// Colours that can be told apart without red and green; letters stand beside them.
const COLOURS = ["#56b4e9", "#e69f00", "#44bb99", "#cc79a7", "#f0e442", "#ee8866", "#bbbbbb", "#99aaff"];
const short = (axis, value) => (axis.quantity === "probability" ? shown(axis, value) : number(Number(value.toPrecision(3))));
const mark = (place) => String.fromCharCode(65 + (place % 26));

export function mapBox({ map, tornado }, choose) {
  if (!map) return null;
  const picker = (id, label, own, other) => el("label", {}, `${label} `, el("select", { id,
    onchange: ({ target }) => choose(id === "unsure-across" ? [target.value, other.id] : [other.id, target.value]) },
  tornado.filter((one) => one.id !== other.id).map((one) => el("option", { value: one.id, selected: one.id === own.id }, one.name))));
  return el("section", { class: "box", "data-map": map.actions.length }, el("h2", {}, "What to begin with over two numbers"),
    el("div", { class: "row wrap unsure-settings noprint" }, picker("unsure-across", "Across", map.across, map.down), picker("unsure-down", "Up", map.down, map.across)),
    map.actions.length === 1
      ? el("p", {}, `Begin with ${map.actions[0]}, whatever ${map.across.name} and ${map.down.name} are within their 95% intervals.`)
      : [grid(map), el("ul", { class: "unsure-key" }, map.actions.map((action, place) => el("li", {},
        el("span", { class: "swatch", style: { background: COLOURS[place % COLOURS.length] } }, mark(place)), action)))],
    el("p", { class: "quiet" }, `Exact, the other numbers as stated.${map.actions.length > 1 ? " The cross is where the model is." : ""}`));
}

function grid({ across, down, actions, first }) {
  const [width, height, left, bottom, top, right] = [640, 400, 100, 58, 10, 14];
  const steps = first.length;
  const [wide, tall] = [(width - left - right) / steps, (height - top - bottom) / steps];
  const x = (value) => left + wide / 2 + ((value - across.values[0]) / (across.values.at(-1) - across.values[0])) * wide * (steps - 1);
  const y = (value) => height - bottom - tall / 2 - ((value - down.values[0]) / (down.values.at(-1) - down.values[0])) * tall * (steps - 1);
  const letters = actions.map((_, place) => middle(first, place));
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `What to begin with over ${across.name} and ${down.name}: ${actions.join(", ")}` },
    first.map((row, i) => row.map((place, j) => svg("rect", { x: left + j * wide, y: height - bottom - (i + 1) * tall, width: wide + 0.5, height: tall + 0.5, fill: COLOURS[place % COLOURS.length] }))),
    letters.map(([i, j], place) => svg("text", { x: left + (j + 0.5) * wide, y: height - bottom - (i + 0.5) * tall + 5, class: "letter middle" }, mark(place))),
    svg("path", { d: `M${x(across.value) - 7},${y(down.value)}h14m-7,-7v14`, class: "cross" }),
    [0, (steps - 1) / 2, steps - 1].map((k) => [svg("text", { x: x(across.values[k]), y: height - bottom + 20, class: `tick ${k === steps - 1 ? "end" : "middle"}` }, short(across, across.values[k])),
      svg("text", { x: left - 6, y: y(down.values[k]) + 4, class: "tick end" }, short(down, down.values[k]))]),
    svg("text", { x: (left + width - right) / 2, y: height - 8, class: "axis middle" }, across.name),
    svg("text", { x: 14, y: (height - bottom) / 2, class: "axis middle", transform: `rotate(-90 14 ${(height - bottom) / 2})` }, down.name));
}

// The cell of an action that is nearest to the middle of all its cells.
function middle(first, place) {
  const cells = first.flatMap((row, i) => row.flatMap((one, j) => (one === place ? [[i, j]] : [])));
  const centre = [0, 1].map((axis) => cells.reduce((sum, cell) => sum + cell[axis], 0) / cells.length);
  const far = ([i, j]) => (i - centre[0]) ** 2 + (j - centre[1]) ** 2;
  return cells.reduce((best, cell) => (far(cell) < far(best) ? cell : best));
}

export function curveBox({ curve, tornado }) {
  if (!curve || !tornado) return null;
  const { points, own, diagnosis, action } = curve;
  const lines = [["plan", "this way of planning"], ["everybody", `${action} for everybody`], ["tested", "every test first"]]
    .filter(([key]) => points.every((point) => point[key] !== null));
  return el("section", { class: "box", "data-curve": lines.length }, el("h2", {}, "Decision curve"), curveChart(points, lines, own),
    el("ul", { class: "unsure-key" }, lines.map(([, name], place) => el("li", {}, el("span", { class: `stroke s${place}` }), name)), el("li", {}, el("span", { class: "stroke none" }), "nobody")),
    el("p", { class: "quiet" }, `Exact. Net benefit per case over the chance of ${diagnosis} from which on one would choose ${action}; the model's own threshold is ${percent(own)}. `
      + "Prices of tests are counted in. The plan is made anew for every threshold."));
}

function curveChart(points, lines, own) {
  const [width, height, left, bottom, top, right] = [640, 400, 96, 58, 12, 24];
  const best = Math.max(...points.map((point) => Math.max(point.plan, point.everybody)), 1e-9);
  const least = -0.25 * best;
  const x = (threshold) => left + threshold * (width - left - right);
  const y = (value) => height - bottom - ((Math.max(value, least) - least) / (1.05 * best - least)) * (height - bottom - top);
  const path = (key) => {
    const kept = points.filter((point, i) => point[key] > least || points[i - 1]?.[key] > least);
    return kept.map((point, i) => `${i ? "L" : "M"}${x(point.threshold)},${y(point[key])}`).join("");
  };
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": "Net benefit over the threshold" },
    [0, 0.25, 0.5, 0.75, 1].map((value) => [svg("line", { x1: x(value), x2: x(value), y1: top, y2: height - bottom, class: "gridline" }),
      svg("text", { x: x(value), y: height - bottom + 20, class: "tick middle" }, percent(value))]),
    [0, best / 2, best].map((value) => [svg("line", { x1: left, x2: width - right, y1: y(value), y2: y(value), class: value ? "gridline" : "zero" }),
      svg("text", { x: left - 6, y: y(value) + 4, class: "tick end" }, number(value, 3))]),
    svg("line", { x1: x(own), x2: x(own), y1: top, y2: height - bottom, class: "own" }),
    lines.map(([key], place) => svg("path", { d: path(key), class: `curve s${place}` })),
    svg("text", { x: (left + width - right) / 2, y: height - 8, class: "axis middle" }, "threshold"),
    svg("text", { x: 14, y: (height - bottom) / 2, class: "axis middle", transform: `rotate(-90 14 ${(height - bottom) / 2})` }, "net benefit"));
}
