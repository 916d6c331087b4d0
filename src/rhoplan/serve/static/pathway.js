// The recommended pathway as a tree that folds; the bar under each step is its share of all cases.

import { ask, el, latest, number, percent, thousand } from "./dom.js";
import { question, state } from "./state.js";

const draw = latest((signal) => ask("pathway", question({ given: state.given, unavailable: state.unavailable }), { signal }));
const OPEN_SHARE = 0.04;
const OPEN_DEPTH = 4;

export async function showPathway(place) {
  const found = await draw();
  if (!found) return;
  const { expected } = found;
  const unit = state.model.reward_unit;
  const seen = found.given.length ? `after ${found.given.map((pair) => pair.join(": ")).join(", ")}` : "from the start";
  place.replaceChildren(el("section", { class: "box pathway" },
    el("div", { class: "row" }, el("h2", {}, `Pathway ${seen}`),
      el("span", {}, el("button", { type: "button", class: "small", onclick: () => fold(place, true) }, "open all"), " ",
        el("button", { type: "button", class: "small", onclick: () => fold(place, false) }, "fold all"))),
    el("p", {}, `Expected: ${number(expected.tests, 2)} tests, ${number(expected.cost)} ${unit}; 9 in 10 cases at most ${expected.tests_90} tests and ${number(expected.cost_90)} ${unit}. Right in ${percent(expected.right)}.`),
    el("p", {}, "Of 1,000 cases: ", Object.entries(expected.commits).map(([name, share]) => `${thousand(share)} end with ${name}`).join(", "), "."),
    el("div", { class: "tree", role: "tree" }, branch(found.root, null, 0))));
}

function branch(node, outcome, depth) {
  const unit = state.model.reward_unit;
  const label = [outcome ? el("span", { class: "outcome" }, `${outcome.outcome} (${percent(outcome.probability)}) → `) : null,
    el("b", { class: node.kind === "commit" ? "commit" : "" }, node.action),
    el("span", { class: "quiet" }, node.kind === "test" ? ` ${number(node.cost)} ${unit}` : node.kind === "goes on" ? " goes on" : "")];
  const top = Object.entries(node.belief).reduce((best, pair) => (pair[1] > best[1] ? pair : best));
  const facts = el("span", { class: "quiet facts-line" }, `${thousand(node.share)} of 1,000; ${top[0]} ${percent(top[1])}`,
    node.kind === "test" ? "" : `; right ${percent(node.right)}, spent ${number(node.cost)}`,
    node.back_to ? `; as at step ${node.back_to}` : "");
  const head = [el("span", { class: "step" }, el("span", { class: "quiet" }, `${node.number}. `), label), facts,
    el("span", { class: "share", style: { width: `${Math.max(0.3, 100 * node.share)}%` } })];
  if (node.kind !== "test") return el("div", { class: "leaf", role: "treeitem" }, head);
  const below = el("div", { class: "below", role: "group" });
  const open = depth < OPEN_DEPTH && node.share >= OPEN_SHARE;
  const fillOnce = () => {
    if (!below.childNodes.length) below.append(...node.outcomes.map((one) => branch(one.child, one, depth + 1)));
  };
  if (open) fillOnce();
  const details = el("details", { open, role: "treeitem", ontoggle: () => details.open && fillOnce() }, el("summary", {}, head), below);
  return details;
}

function fold(place, open) {
  let found;
  do { // what opens draws what lies below, which may be closed
    found = [...place.querySelectorAll("details")].filter((one) => one.open !== open);
    for (const one of found) {
      one.open = open;
      if (open) one.dispatchEvent(new Event("toggle"));
    }
  } while (open && found.length);
}
