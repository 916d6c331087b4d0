// What if the numbers were others: sliders for prior, costs, losses and weight, live advice, and where it flips.

import { amount, ask, beliefBars, beside, counted, el, later, latest, number, percent } from "./dom.js";
import { word } from "./prefs.js";
import { question, stake, state, weight, weightLimit } from "./state.js";
import { caseOf } from "./start.js";
import { numberField, valueOf } from "./typed.js";

let owner = null;
let changes = {}; // values by the id of their parameter, the last one set at the end

const differs = (value, own) => Math.abs(value - own) > 1e-9 * Math.max(1, Math.abs(own));

function change(id, value, own) {
  delete changes[id];
  if (differs(value, own)) changes[id] = value;
}

const mine = () => `${state.model.problem} ${state.model.digest}`;

// How many numbers of the open model stand changed in this view; all other views show the model's own.
export const changedNumbers = () => (owner === mine() ? Object.keys(changes).length : 0);

// A what-if has other chances of its own, so the case's are told apart.
function whatIfOf() {
  const { prior, ...more } = caseOf();
  return prior ? { ...more, own_prior: prior } : more;
}

const body = (more) => question({ ...whatIfOf(), base_weight: weight(), values: changes, most: SHOWN, ...more });

const quick = latest((signal) => ask("what-if", body({ flips: false }), { signal }));
// One kind of number after another, so that the first answers are there early.
const KINDS = [["prior", "weight"], ["cost", "first-price"], ["reward", "loss"], ["likelihood"]];
const thorough = latest(async (signal, tell) => {
  const found = [];
  for (const only of KINDS) {
    const part = await ask("what-if", body({ flips: true, only, budget: 8 }), { signal });
    found.push(...part.flips);
    tell(found, only === KINDS.at(-1), part.flips_words);
  }
});

export async function showWhatIf() {
  if (owner !== mine()) {
    owner = mine();
    changes = {};
  }
  const banner = el("div", { class: "banner", role: "status", "aria-live": "polite" });
  const answer = el("section", { class: "box next" });
  const flips = el("section", { class: "box flips-box" });
  const sliders = el("section", { class: "box sliders" });
  const content = el("div", { class: "whatif" }, el("div", { class: "column" }, banner, answer, flips), sliders);
  const gone = () => !content.isConnected; // another view is there by now
  const fail = (error) => { banner.replaceChildren(error.message); banner.className = "banner bad"; };
  const examine = later(500, async () => {
    if (gone()) return;
    try {
      await thorough((found, done, words) => !gone() && drawFlips(flips, sliders, found, done, words));
    } catch (error) { fail(error); }
  });
  const update = async () => {
    flips.replaceChildren(el("h2", {}, "Where it flips"), el("p", { class: "quiet" }, "looking …"));
    for (const mark of sliders.querySelectorAll(".flip, .marks")) mark.replaceChildren();
    examine();
    try {
      const found = await quick();
      if (!found) return;
      drawAnswer(banner, answer, found);
      refresh(sliders, found.parameters);
    } catch (error) { fail(error); }
  };
  const found = await quick();
  if (!found) return null;
  drawAnswer(banner, answer, found);
  drawSliders(sliders, found, update);
  return { content, start: update };
}

function drawAnswer(banner, place, { advice, changed, without_changes: before }) {
  banner.className = `banner ${changed ? "changed" : ""}`;
  banner.replaceChildren(changed
    ? el("span", {}, "With these numbers the advice flips: ", el("b", { "data-flipped": advice.do }, advice.do), ` instead of ${before}.`)
    : el("span", {}, "The advice stays: ", el("b", {}, advice.do), "."));
  const unit = state.model.reward_unit;
  place.replaceChildren(el("h2", {}, "Do next"),
    el("div", { class: "headline" }, el("strong", { class: "do", "data-do": advice.do }, advice.is_test ? advice.do : `Stop: ${advice.do}`)),
    el("p", { class: "reason" }, `because ${advice.reason}.`), beliefBars(advice.belief, { most: 8 }),
    el("p", {}, `If you stop now: ${advice.stop.commit}, P(wrong) ${percent(advice.stop.wrong)}. `,
      advice.is_test && !advice.ahead ? advice.words.ahead : advice.is_test ? `Still to come: ${counted(advice.ahead.tests, word("test"))}, about ${amount(advice.ahead.cost, unit)}.${advice.ahead.cut_off ? ` ${advice.ahead.cut_off}.` : ""}` : "Nothing is still to come."),
    beside(advice));
}

function drawFlips(place, sliders, flips, done, words) {
  const rows = [];
  for (const flip of flips) {
    const said = [];
    for (const [edge, way] of [[flip.down, "below"], [flip.up, "above"]]) {
      if (edge.status === "flips") said.push({ text: `${way} ${show(flip, edge.value)} it becomes ${edge.then}`, far: edge.distance, value: edge.value });
      else if (edge.status === "not examined") said.push({ text: `${way}: not examined` });
    }
    const line = sliders.querySelector(`[data-flip="${CSS.escape(flip.id)}"]`);
    const found = said.filter((one) => one.value !== undefined);
    if (line) {
      line.textContent = (said.length === 2 && !found.length ? "not examined in time" : said.map((one) => one.text).join("; ")) || "no flip within its range";
      line.closest(".slider").mark(found.map((one) => one.value));
    }
    rows.push(...found.map((one) => ({ ...one, name: flip.parameter })));
  }
  rows.sort((a, b) => a.far - b.far);
  place.replaceChildren(...[el("h2", {}, "Where it flips"), rows.length
    ? el("ul", { class: "flips" }, rows.slice(0, 8).map((row) => el("li", {}, el("b", {}, row.name), ` ${row.text}`)))
    : el("p", {}, done ? "No single number that was examined flips the first action." : "looking …"),
  done ? null : el("p", { class: "quiet" }, "still looking …"),
  words ? el("p", { class: "quiet" }, `${words[0].toUpperCase()}${words.slice(1)}.`) : null,
  el("p", { class: "quiet" }, "Nearest first, relative to the value now. Each flip was computed on both sides.")].filter(Boolean));
}

const show = (flip, value) => (flip.quantity === "probability" ? percentFine(value) : number(value));
const percentFine = (value) => `${Number((100 * value).toPrecision(3))}%`;

const logit = (p) => Math.log(Math.max(p, 1e-9) / Math.max(1 - p, 1e-9));

// Where a slider stands for a value, from 0 to 1, and back. Chances move in odds, so that rare states can be set too.
const inOdds = (value) => {
  const reach = Math.max(7, Math.abs(logit(value)) + 3);
  return { place: (p) => (logit(p) + reach) / (2 * reach), value: (at) => 1 / (1 + Math.exp(reach - 2 * reach * at)), percent: true };
};
const squared = (high) => ({ place: (value) => Math.sqrt(value / high), value: (at) => high * at ** 2, least: 0, high });
const straight = (reach) => ({ place: (value) => (value + reach) / (2 * reach), value: (at) => 2 * reach * at - reach });

const FOLDED = 12;
const SHOWN = 24;

// What stands beside a slider, and how far it reaches, by the kind of the number.
const SLIDERS = {
  prior: { label: ([name]) => `P of ${name}`, reach: (own) => inOdds(own) },
  weight: { label: () => "weight", reach: () => squared(weightLimit()) },
  cost: { label: ([name]) => name, reach: (own, scale) => squared(own > 0 ? 20 * own : scale / 20) },
  "first-price": { label: ([name]) => `first of ${name}`, reach: (own, scale) => squared(own > 0 ? 20 * own : scale / 20) },
  loss: { label: ([commit, name]) => `${commit} when ${name}`, reach: (own, scale) => squared(own > 0 ? 4 * own : scale) },
  likelihood: { label: (names) => quality(names), reach: (own) => inOdds(own) },
  reward: { label: ([commit, name]) => `${commit} when ${name}`, reach: (own, scale) => straight(Math.max(scale, 2 * Math.abs(own))) },
};

// What people call the chance of a result: sensitivity and specificity where a test has two results and one state is looked for.
function quality([test, name, outcome]) {
  const { positive, tests } = state.model.record;
  const results = tests[test]?.outcomes ?? [];
  if (positive && results.length === 2 && name === positive && outcome === results[1]) return `Sensitivity of ${test}`;
  if (positive && results.length === 2 && name !== positive && outcome === results[0]) return `Specificity of ${test}`;
  return `P(${outcome} | ${name}) of ${test}`;
}

function drawSliders(place, { parameters, counts }, update) {
  const unit = state.model.reward_unit;
  const group = (title, ...kinds) => {
    const rows = parameters.filter((one) => kinds.includes(one.kind));
    const all = kinds.reduce((sum, kind) => sum + (counts[kind] ?? 0), 0);
    return all && el("details", { class: kinds.includes("weight") ? "group nats" : "group", open: all <= FOLDED }, el("summary", {}, title), rows.map((one) => slider(one, update)),
      all > rows.length ? el("p", { class: "quiet" }, `${all - rows.length} more can be changed in the Model view.`) : null);
  };
  const back = () => {
    changes = {};
    update();
  };
  place.replaceChildren(...[el("div", { class: "row" }, el("h2", {}, "What if"),
    el("button", { type: "button", class: "small", onclick: back }, "back to the model")),
  group("Prior: how likely before anything is seen", "prior"), group(`Price of information, ${unit} per nat`, "weight"), group(`How good ${word("tests")} are`, "likelihood"),
  group(`Costs of ${word("tests")}, ${unit}`, "cost", "first-price"), group(`${stake() === "loss" ? "Losses" : "Rewards"}, ${unit}`, "loss", "reward")].filter(Boolean));
}

// Values that the server gave: moving one probability moves the others. Who types is left alone.
function refresh(place, parameters) {
  const values = Object.fromEntries(parameters.map((one) => [one.id, one.value]));
  for (const box of place.querySelectorAll(".slider")) box.refresh(values[box.dataset.id]);
}

function slider({ id, kind, names, value, own }, update) {
  const name = SLIDERS[kind].label(names);
  let scale = SLIDERS[kind].reach(own, state.model.reward_scale);
  const factor = scale.percent ? 100 : 1;
  const shown = (one) => String(Number((factor * one).toPrecision(4)));
  const at = (one) => Math.max(0, Math.min(1, scale.place(one)));
  const range = el("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": name });
  const typed = numberField({ "aria-label": `${name}, number` }, scale.percent ? { where: "percent", least: 0, most: 100 } : { least: scale.least });
  let current = value;
  const put = (one) => {
    current = one;
    range.value = 1000 * at(one);
    range.setAttribute("aria-valuetext", `${shown(one)}${scale.percent ? "%" : ""}`);
    typed.value = shown(one);
    mark(one);
  };
  const mark = (one) => {
    box.classList.toggle("other", differs(one, own));
    back.hidden = !differs(one, own);
  };
  const use = (one) => {
    current = one;
    change(id, one, own);
    mark(one);
    update();
  };
  range.addEventListener("input", () => {
    const one = Number(scale.value(range.value / 1000).toPrecision(3));
    typed.value = shown(one);
    range.setAttribute("aria-valuetext", typed.value);
    use(one);
  });
  typed.addEventListener("change", () => {
    const one = valueOf(typed);
    if (one === undefined) return;
    if (one === null || (scale.percent && (one <= 0 || one >= 1))) put(current);
    else { put(one); use(one); }
  });
  const marks = el("span", { class: "marks", "aria-hidden": "true" });
  const told = `${shown(own)}${scale.percent ? "%" : ""}`;
  const back = el("button", { type: "button", class: "own small", hidden: true, "aria-label": `${name}: undo, the model has ${told}`,
    onclick: () => { put(own); use(own); } }, `changed; the model has ${told}`);
  const box = el("div", { class: "slider", "data-id": id }, el("span", { class: "name" }, name), el("span", { class: "track" }, range, marks),
    el("span", { class: "typed" }, typed, scale.percent ? " %" : ""), back, el("span", { class: "flip quiet", "data-flip": id }));
  box.mark = (values) => { // a flip beyond the end of the slider makes it longer
    if (Math.max(...values) > scale.high) {
      scale = squared(1.5 * Math.max(...values));
      put(current);
    }
    marks.replaceChildren(...values.map(at).filter((one) => one > 0 && one < 1).map((one) => el("i", { style: { left: `calc(8px + ${one} * (100% - 16px))` } })));
  };
  box.refresh = (one) => one !== undefined && !box.contains(document.activeElement) && put(one);
  put(value);
  return box;
}
