// Ways of deciding side by side, and what reward and success come to over the price of information.

import { ask, el, fixed, latest, number, percent, svg } from "./dom.js";
import { question, state } from "./state.js";

const fetchAll = latest((signal) => ask("compare", question(), { signal }));

export async function showCompare(place) {
  const found = await fetchAll();
  if (!found) return;
  place.replaceChildren(tableBox(found), found.frontier ? frontierBox(found.frontier) : el("p", {}));
}

function tableBox({ rows }) {
  const unit = state.model.reward_unit;
  const by = Object.fromEntries(rows.map((row) => [row.key, row]));
  const { "cost-only": plain, asked } = by;
  const total = (row) => (row.reward === null ? "–" : fixed(state.model.losses ? -row.reward : row.reward));
  const said = [];
  if (plain?.reward != null && asked?.reward != null) {
    const better = plain.reward - asked.reward;
    if (better > 1e-9 * state.model.reward_scale) said.push(`Cost-only planning is better by ${number(better, 3)} ${unit} per case than the plan with a price on information.`);
    else if (better < -1e-9 * state.model.reward_scale) said.push(`The plan with a price on information is better by ${number(-better, 3)} ${unit} per case than cost-only at the horizon reached.`);
    else said.push("Cost-only planning and the plan with a price on information come to the same.");
  }
  const optimum = by.optimum;
  if (optimum && !optimum.reached) said.push("The certified optimum was not reached in time; its bounds are shown.");
  return el("section", { class: "box" }, el("h2", {}, "Ways of deciding"), said.map((line) => el("p", {}, line)),
    el("div", { class: "scroll" }, el("table", { class: "stack" }, el("thead", {}, el("tr", {},
      ["policy", "first", state.model.losses ? "total loss" : "total reward", "tests", "spent", "9 in 10", "errors"].map((name, i) => el("th", { scope: "col", class: i === 1 ? "words" : null }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", { class: row.key === "asked" ? "chosen" : null },
      el("th", { scope: "row" }, row.label, row.note ? el("div", { class: "quiet" }, row.note) : null),
      el("td", { "data-label": "first", class: "words" }, row.first),
      el("td", { "data-label": state.model.losses ? "total loss" : "total reward" }, total(row),
        row.lower !== null && row.upper !== null && !row.note.includes("certified") ? el("div", { class: "quiet" }, bounds(row)) : null),
      el("td", { "data-label": "tests" }, fixed(row.tests)), el("td", { "data-label": "spent" }, fixed(row.cost)),
      el("td", { "data-label": "9 in 10" }, fixed(row.cost_90)), el("td", { "data-label": "errors" }, row.errors === null ? "–" : percent(row.errors))))))),
    el("p", { class: "quiet" }, `Per case, in ${unit}; the total counts tests and the commit. Errors: share of cases whose commit is not a best one.`));
}

function bounds(row) {
  const [low, high] = state.model.losses ? [-row.upper, -row.lower] : [row.lower, row.upper];
  return `between ${number(low, 3)} and ${number(high, 3)}`;
}

function frontierBox(frontier) {
  const unit = state.model.reward_unit;
  const { points } = frontier;
  const head = el("h2", {}, "Reward and success over the price of information");
  if (!points.length) return el("section", { class: "box" }, head, el("p", {}, "No step was found in time."));
  const best = points.reduce((top, point) => (point.reward > top.reward ? point : top));
  return el("section", { class: "box" }, head,
    el("p", {}, `Look-ahead ${frontier.horizon}. Reward is highest at ${range(best)} ${unit} per nat.`,
      frontier.complete ? "" : " Not all steps up to the largest weight were found in time."),
    chart(points, best),
    el("details", {}, el("summary", {}, `The ${points.length} steps as numbers`), el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, [`weight (${unit} per nat)`, "reward", "success", "tests"].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, points.map((point) => el("tr", {}, el("th", { scope: "row" }, range(point)), el("td", {}, number(point.reward, 4)),
        el("td", {}, percent(point.success)), el("td", {}, number(point.tests, 2)))))))));
}

const range = (point) => (point.upper === null ? `${number(point.lower, 3)} and more` : `${number(point.lower, 3)} to ${number(point.upper, 3)}`);

function chart(points, best) {
  const [width, height, left, bottom, top] = [640, 320, 84, 44, 22];
  const span = (key) => {
    const values = points.map((point) => point[key]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = (high - low || Math.abs(high) || 1) * 0.08;
    return [low - room, high + room];
  };
  const [x0, x1] = span("reward");
  const [y0, y1] = span("success");
  const x = (value) => left + ((value - x0) / (x1 - x0)) * (width - left - 16);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0)) * (height - bottom - top);
  const ticks = (low, high) => [0, 1, 2, 3].map((i) => low + ((high - low) * (i + 0.5)) / 4);
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": "Success against reward, one point per step of the weight" },
    ticks(x0, x1).map((value) => [svg("line", { x1: x(value), x2: x(value), y1: top, y2: height - bottom, class: "gridline" }),
      svg("text", { x: x(value), y: height - bottom + 16, class: "tick middle" }, number(value, 2))]),
    ticks(y0, y1).map((value) => [svg("line", { x1: left, x2: width - 16, y1: y(value), y2: y(value), class: "gridline" }),
      svg("text", { x: left - 6, y: y(value) + 4, class: "tick end" }, `${number(100 * value, 2)}%`)]),
    svg("polyline", { points: points.map((point) => `${x(point.reward)},${y(point.success)}`).join(" "), class: "line" }),
    points.map((point) => svg("circle", { cx: x(point.reward), cy: y(point.success), r: point === best ? 6 : 4, class: point === best ? "point best" : "point" },
      svg("title", {}, `weight ${range(point)}: reward ${number(point.reward, 4)}, success ${percent(point.success)}, ${number(point.tests, 2)} tests`))),
    svg("text", { x: x(points[0].reward) - 10, y: y(points[0].success) + 4, class: "tick end" }, "weight 0"),
    svg("text", { x: (left + width) / 2, y: height - 6, class: "axis middle" }, `reward, ${state.model.reward_unit} per case`),
    svg("text", { x: 14, y: (height - bottom) / 2, class: "axis middle", transform: `rotate(-90 14 ${(height - bottom) / 2})` }, "success"));
}
