// Ways of deciding side by side, and what reward and success come to over the price of information.

import { word } from "./prefs.js";
import { el, fixed, kindOf, latest, number, onePart, percent, svg } from "./dom.js";
import { question, stake, state } from "./state.js";

const fetchAll = latest((signal) => onePart(question(), "comparison", { signal }));

export async function showCompare() {
  const part = await fetchAll();
  const found = part?.content;
  return found && { content: [tableBox(found, part), found.frontier ? frontierBox(found.frontier) : null].filter(Boolean) };
}

function tableBox({ rows, cost_only_better_by: better }, part) {
  const unit = state.model.reward_unit;
  const worth = `total ${stake()}`;
  const said = [];
  if (better > 0) said.push(`Cost-only planning is better by ${number(better, 3)} ${unit} per case than the plan with a price on information.`);
  else if (better < 0) said.push(`The plan with a price on information is better by ${number(Math.abs(better), 3)} ${unit} per case than cost-only at the horizon reached.`);
  else if (better === 0) said.push("Cost-only planning and the plan with a price on information come to the same.");
  const optimum = rows.find((row) => row.key === "optimum");
  if (optimum && !optimum.reached) said.push("The certified optimum was not reached in time; its bounds are shown.");
  return el("section", { class: "box" }, el("h2", {}, "Ways of deciding"), kindOf(part), said.map((line) => el("p", {}, line)),
    el("div", { class: "scroll" }, el("table", { class: "stack" }, el("thead", {}, el("tr", {},
      ["policy", "first", worth, word("tests"), "spent", "9 in 10 spend", "errors"].map((name, i) => el("th", { scope: "col", class: i === 1 ? "words" : null }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", { class: row.key === "asked" ? "chosen" : null },
      el("th", { scope: "row" }, row.label, row.note ? el("div", { class: "quiet" }, row.note) : null),
      el("td", { "data-label": "first", class: "words" }, row.first),
      el("td", { "data-label": worth }, row.stake === null ? "–" : fixed(row.stake),
        row.stake_bounds && !row.reached ? el("div", { class: "quiet" }, bounds(row)) : null),
      el("td", { "data-label": "tests" }, fixed(row.tests)), el("td", { "data-label": "spent" }, fixed(row.cost)),
      el("td", { "data-label": "9 in 10 spend" }, fixed(row.cost_90)), el("td", { "data-label": "errors" }, row.errors === null ? "–" : percent(row.errors))))))),
    el("p", { class: "quiet" }, `Per ${word("case")}, from its start, in ${unit}. The total counts ${word("tests")} and the ${word("commit")}. 9 in 10 spend: what nine ${word("cases")} in ten do not exceed. Errors: share of ${word("cases")} whose ${word("commit")} is not a best one.`));
}

function bounds({ stake_bounds: [low, high] }) {
  return `between ${number(low, 3)} and ${number(high, 3)}`;
}

function frontierBox(frontier) {
  const unit = state.model.reward_unit;
  const { points } = frontier;
  const worth = stake();
  const head = el("h2", {}, `Total ${worth} and success over the price of information`);
  if (!points.length) return el("section", { class: "box nats" }, head, el("p", {}, "No step was found in time."));
  const best = points[frontier.best];
  const said = points.length > 1 ? `The total ${worth} is ${worth === "loss" ? "lowest" : "highest"} for a price of ${range(best)} ${unit} per nat.`
    : `The plan is the same for every price of information from ${range(best)} ${unit} per nat.`;
  const table = el("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "The steps as numbers" }, el("table", {},
    el("thead", {}, el("tr", {}, [`price (${unit} per nat)`, worth, "success", "tests"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, points.map((point) => el("tr", { class: point === best ? "chosen" : null }, el("th", { scope: "row" }, range(point)),
      el("td", {}, fixed(point.stake, 3)), el("td", {}, percentFine(point.success)), el("td", {}, fixed(point.tests)))))));
  return el("section", { class: "box nats" }, head,
    el("p", {}, `Look-ahead ${frontier.horizon}. ${said}`, points.length > 1 ? " Each point is a step: between steps the plan stays as it is." : "",
      points.some((point) => point.cut_off) ? ` In some steps ${points.find((point) => point.cut_off).cut_off}.` : "",
      frontier.complete ? "" : " Not all steps up to the largest price were found in time."),
    el("div", { class: points.length > 1 ? "frontier" : "" }, points.length > 1 ? chart(points, best, worth) : null, table));
}

const range = ({ lower, upper }) => {
  const low = lower < 1e-9 * state.model.reward_scale ? "0" : number(lower, 3);
  return upper === null ? `${low} and more` : `${low} to ${number(upper, 3)}`;
};
const percentFine = (share) => `${fixed(100 * share, 2)}%`;

function chart(points, best, worth) {
  const [width, height, left, bottom, top, right] = [640, 340, 86, 46, 16, 22];
  const span = (values, alike) => {
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const wide = high - low > 1e-9 * Math.abs(high) ? high - low : alike;
    return [low - 0.1 * wide, high + 0.1 * wide];
  };
  const [x0, x1] = span(points.map((point) => point.stake), Math.abs(best.stake) || 1);
  const [y0, y1] = span(points.map((point) => 100 * point.success), 10);
  const x = (point) => left + ((point.stake - x0) / (x1 - x0)) * (width - left - right);
  const y = (point) => height - bottom - ((100 * point.success - y0) / (y1 - y0)) * (height - bottom - top);
  const acrossX = (value) => x({ stake: value });
  const acrossY = (value) => y({ success: value / 100 });
  const ends = [[points[0], "price 0"], [points.at(-1), "high price"]];
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `Success against total ${worth}, one point per step of the price` },
    ticks(x0, x1).map((value) => [svg("line", { x1: acrossX(value), x2: acrossX(value), y1: top, y2: height - bottom, class: "gridline" }),
      svg("text", { x: acrossX(value), y: height - bottom + 17, class: "tick middle" }, number(value, 3))]),
    ticks(y0, Math.min(y1, 100)).map((value) => [svg("line", { x1: left, x2: width - right, y1: acrossY(value), y2: acrossY(value), class: "gridline" }),
      svg("text", { x: left - 6, y: acrossY(value) + 4, class: "tick end" }, `${number(value, 3)}%`)]),
    svg("polyline", { points: points.map((point) => `${x(point)},${y(point)}`).join(" "), class: "line" }),
    points.map((point) => svg("circle", { cx: x(point), cy: y(point), r: point === best ? 7 : 4, class: point === best ? "point best" : "point" },
      svg("title", {}, `price ${range(point)}: ${worth} ${number(point.stake, 4)}, success ${percent(point.success)}, ${number(point.tests, 2)} tests`))),
    ends.map(([point, name]) => svg("text", { x: x(point), y: y(point) + 22, class: `tick ${x(point) > width / 2 ? "end" : ""}` }, name)),
    svg("text", { x: (left + width - right) / 2, y: height - 8, class: "axis middle" }, `total ${worth}, ${state.model.reward_unit} per case`),
    svg("text", { x: 15, y: (height - bottom) / 2, class: "axis middle", transform: `rotate(-90 15 ${(height - bottom) / 2})` }, "success"));
}

// Round numbers, three to six of them.
function ticks(low, high) {
  const rough = (high - low) / 5;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * size).find((one) => one >= rough);
  const found = [];
  for (let i = Math.ceil(low / step); i * step <= high; i += 1) found.push(Number((i * step).toPrecision(12)));
  return found;
}
