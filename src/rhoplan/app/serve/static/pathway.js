// The recommended pathway as a tree that folds; the bar under each step is its share of all cases.

import { word } from "./prefs.js";
import { amount, beside, counted, el, few, kindOf, latest, number, onePart, percent, percents, thousand } from "./dom.js";
import { question, state } from "./state.js";
import { caseOf } from "./start.js";
import { redraw } from "./app.js";

const draw = latest((signal) => onePart(question(state.whole ? {} : caseOf()), "pathway", { signal }));
const OPEN_SHARE = 0.04;
const OPEN_DEPTH = 4;

export async function showPathway() {
  const part = await draw();
  if (!part) return null;
  const found = part.content;
  const { expected } = found;
  const unit = state.model.reward_unit;
  const seen = found.given.map((pair) => pair.join(": ")).join(", ");
  const from = !state.entries.length || state.whole ? "From the start of a case." : `After ${seen || "nothing seen yet"}${found.unavailable.length ? `, without ${found.unavailable.join(", ")}` : ""}.`;
  const other = (label, whole) => el("button", { type: "button", class: "small", "aria-pressed": String(state.whole === whole),
    onclick: () => { state.whole = whole; redraw(); } }, label);
  const content = el("section", { class: "box pathway" },
    el("div", { class: "row wrap spread" }, el("h2", {}, "Recommended pathway"),
      el("span", { class: "row wrap noprint" }, state.entries.length ? [other("from here", false), other("from the start", true)] : null,
        el("button", { type: "button", class: "small", onclick: () => fold(true) }, "open all"),
        el("button", { type: "button", class: "small", onclick: () => fold(false) }, "fold all"))),
    el("p", {}, from),
    el("p", {}, found.root.kind === "test"
      ? `To expect: ${counted(expected.tests, word("test"))} costing ${amount(expected.cost, unit)}; 9 in 10 ${word("cases")} at most ${counted(expected.tests_90, word("test"))} and ${amount(expected.cost_90, unit)}. Right in ${percent(expected.right)} of ${word("cases")}.`
      : `Nothing more to look at: decide now. Right in ${percent(expected.right)} of ${word("cases")}.`),
    beside(found), kindOf(part), el("p", {}, `How 1,000 ${word("cases")} end: `, few(Object.entries(expected.commits), 12).map(([name, share]) => `${name} ${thousand(share)}`).join(", "), "."),
    el("div", { class: "tree" }, branch(found.root, null, 0)),
    el("p", { class: "quiet legend" }, el("span", { class: "key" }), `share of ${word("cases")} at a ${word("test")} `, el("span", { class: "key ends" }), `at a ${word("commit")} `,
      el("span", { class: "key on" }), `goes on as at an earlier step. Spent: ${word("tests")} from here on.`));
  return { content };
}

const goesOn = ({ ends, tests, back_to: back }) =>
  (back || ends < 10 ? " and so on" : ` and so on: ${ends.toLocaleString("en")} ends, ${number(tests, 1)} ${word("tests")} on average`);

// The state that every row tells the chance of: of two the one that is looked for, of more the likeliest.
function lookedFor(belief) {
  const states = Object.keys(belief);
  if (states.length === 2) return state.model.record.positive ?? states[1];
  return states.reduce((best, one) => (belief[one] > belief[best] ? one : best));
}

function branch(node, outcome, depth, chance) {
  const unit = state.model.reward_unit;
  const label = [outcome ? el("span", { class: "outcome" }, `${outcome.outcome} (${chance}) → `) : null,
    el("b", { class: node.kind === "commit" ? "commit" : "" }, node.action),
    el("span", { class: "quiet" }, node.kind === "test" ? ` costs ${amount(node.cost, unit)}` : node.kind === "goes on" ? goesOn(node) : "")];
  const about = lookedFor(node.belief);
  const share = node.share < 0.001 ? `${thousand(node.share)} ${word("cases")}` : `${thousand(node.share)} of 1,000`;
  const facts = el("span", { class: "quiet facts-line" }, `${share}; ${about} ${percent(node.belief[about])}`,
    node.kind === "test" ? "" : `; right ${percent(node.right)}, spent ${amount(node.cost, unit)}`,
    node.back_to ? `; as at step ${node.back_to}` : "");
  const head = [el("span", { class: "step" }, el("span", { class: "quiet" }, `${node.number}. `), label), facts,
    el("span", { class: `share ${node.kind === "commit" ? "ends" : node.kind === "test" ? "" : "on"}`, style: { width: `${Math.max(0.3, 100 * node.share)}%` } })];
  if (node.kind !== "test") return el("div", { class: "leaf" }, head);
  const below = el("div", { class: "below" });
  const open = depth < OPEN_DEPTH && node.share >= OPEN_SHARE;
  const fillOnce = () => {
    if (below.childNodes.length) return;
    const chances = percents(node.outcomes.map((one) => one.probability));
    below.append(...node.outcomes.map((one, i) => branch(one.child, one, depth + 1, chances[i])));
  };
  if (open) fillOnce();
  const details = el("details", { open, ontoggle: () => details.open && fillOnce() }, el("summary", {}, head), below);
  return details;
}

function fold(open) {
  let found;
  do { // what opens draws what lies below, which may be closed
    found = [...document.querySelectorAll(".tree details")].filter((one) => one.open !== open);
    for (const one of found) {
      one.open = open;
      if (open) one.dispatchEvent(new Event("toggle"));
    }
  } while (open && found.length);
}

// Paper cannot be unfolded.
export const openForPrint = () => fold(true);
