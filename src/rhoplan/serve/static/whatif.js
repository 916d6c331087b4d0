// What if the numbers were others: sliders for prior, costs, losses and weight, live advice, and where it flips.

import { ask, beliefBars, el, later, latest, number, percent } from "./dom.js";
import { question, state, weightLimit } from "./state.js";

let owner = null;
let changes = fresh();

function fresh() {
  return { prior: null, costs: {}, rewards: {}, first_prices: {}, weight: null };
}

function body(more) {
  const set = (map) => (Object.keys(map).length ? map : null);
  return question({ given: state.given, unavailable: state.unavailable, base_weight: state.weight,
    weight: changes.weight ?? state.weight, prior: changes.prior, costs: set(changes.costs), rewards: set(changes.rewards),
    first_prices: set(changes.first_prices), ...more });
}

const quick = latest((signal) => ask("what-if", body({ flips: false }), { signal }));
// One kind of number after another, so that the first answers are there early.
const KINDS = [["prior", "weight"], ["cost", "first price"], ["reward"]];
const thorough = latest(async (signal, tell) => {
  const found = [];
  for (const only of KINDS) {
    const part = await ask("what-if", body({ flips: true, only, budget: 8 }), { signal });
    found.push(...part.flips);
    tell(found, only === KINDS.at(-1));
  }
});

export async function showWhatIf(place) {
  if (owner !== state.model.problem) {
    owner = state.model.problem;
    changes = fresh();
  }
  const banner = el("div", { class: "banner", role: "status", "aria-live": "polite" });
  const answer = el("section", { class: "box next" });
  const flips = el("section", { class: "box" });
  const sliders = el("section", { class: "box sliders" });
  place.replaceChildren(el("div", { class: "whatif" }, el("div", { class: "column" }, banner, answer, flips), sliders));
  const fail = (error) => { banner.replaceChildren(error.message); banner.className = "banner bad"; };
  const examine = later(500, async () => {
    try {
      await thorough((found, done) => drawFlips(flips, sliders, found, done));
    } catch (error) { fail(error); }
  });
  const update = async () => {
    flips.replaceChildren(el("h2", {}, "Where it flips"), el("p", { class: "quiet" }, "looking …"));
    for (const mark of sliders.querySelectorAll(".flip")) mark.textContent = "";
    examine();
    try {
      const found = await quick();
      if (found) drawAnswer(banner, answer, found);
    } catch (error) { fail(error); }
  };
  const rebuild = () => {
    drawSliders(sliders, update, rebuild);
    update();
  };
  drawSliders(sliders, update, rebuild);
  await update();
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
    el("p", {}, `If you stop now: ${advice.stop.commit}, P(wrong) ${percent(advice.stop.wrong)}. Still to come: ${number(advice.ahead.tests, 1)} tests, about ${number(advice.ahead.cost)} ${unit}.`),
    advice.runner_up ? el("p", { class: "quiet" }, `Runner-up: ${advice.runner_up}, ${number(advice.margin)} ${unit} behind.`) : null);
}

function drawFlips(place, sliders, flips, done) {
  const rows = [];
  for (const flip of flips) {
    const loss = state.model.losses && flip.kind === "reward";
    const said = [];
    for (const [edge, way] of [[flip.down, loss ? "above" : "below"], [flip.up, loss ? "below" : "above"]]) {
      if (edge.status === "flips") said.push({ text: `${way} ${show(flip, loss ? -edge.value : edge.value)} it becomes ${edge.then}`, far: distance(flip, edge.value) });
      else if (edge.status === "not examined") said.push({ text: `${way}: not examined`, far: Infinity });
    }
    const mark = sliders.querySelector(`[data-flip="${CSS.escape(flip.parameter)}"]`);
    if (mark) mark.textContent = (said.length === 2 && said.every((one) => one.far === Infinity) ? "not examined in time" : said.map((one) => one.text).join("; ")) || "never flips within its range";
    rows.push(...said.filter((one) => one.far < Infinity).map((one) => ({ ...one, name: loss ? flip.parameter.replace("reward", "loss") : flip.parameter })));
  }
  rows.sort((a, b) => a.far - b.far);
  place.replaceChildren(...[el("h2", {}, "Where it flips"), rows.length
    ? el("ul", { class: "flips" }, rows.slice(0, 8).map((row) => el("li", {}, el("b", {}, row.name), ` ${row.text}`)))
    : el("p", {}, done ? "No single number that was examined flips the first action." : "looking …"),
  done ? null : el("p", { class: "quiet" }, "still looking …"),
  el("p", { class: "quiet" }, "Nearest first, relative to the value now; each flip was computed on both sides.")].filter(Boolean));
}

const show = (flip, value) => (flip.quantity === "probability" ? percentFine(value) : number(value));
const percentFine = (value) => (value < 0.01 || value > 0.99 ? `${Number((100 * value).toPrecision(3))}%` : percent(value));

function distance(flip, value) {
  if (flip.quantity === "probability") return Math.abs(logit(value) - logit(flip.value));
  return Math.abs(value - flip.value) / Math.max(Math.abs(flip.value), 1e-9);
}
const logit = (p) => Math.log(Math.max(p, 1e-9) / Math.max(1 - p, 1e-9));

function drawSliders(place, update, rebuild) {
  const { record, reward_unit: unit, losses } = state.model;
  const prior = changes.prior ?? Object.fromEntries(state.model.states.map((name, i) => [name, record.prior[i]]));
  const scale = state.model.reward_scale;
  const rows = [];
  const states = state.model.states.length === 2 ? [state.model.states[1]] : state.model.states.slice(0, 12);
  rows.push(el("h3", {}, "Prior"));
  for (const name of states) {
    rows.push(slider(`P(${name})`, prior[name], { low: 0.001, high: 0.999, step: 0.001, flip: `prior of ${name}`, text: percentFine }, (value) => {
      changes.prior = moved(prior, name, value);
      Object.assign(prior, changes.prior);
      update();
    }));
  }
  rows.push(el("h3", {}, `Price of information, ${unit} per nat`));
  rows.push(slider("weight", changes.weight ?? state.weight, { low: 0, high: weightLimit(), flip: "weight" }, (value) => { changes.weight = value; update(); }));
  rows.push(el("h3", {}, `Costs of tests, ${unit}`));
  for (const [name, test] of Object.entries(record.tests)) {
    rows.push(slider(name, changes.costs[name] ?? test.cost, { low: 0, high: Math.max(4 * test.cost, scale / 20), flip: `cost of ${name}` },
      (value) => { changes.costs[name] = value; update(); }));
  }
  for (const [name, group] of Object.entries(record.groups ?? {})) {
    if (group.first === undefined) continue;
    rows.push(slider(`first of ${name}`, changes.first_prices[name] ?? group.first, { low: 0, high: Math.max(4 * group.first, scale / 20), flip: `first price of ${name}` },
      (value) => { changes.first_prices[name] = value; update(); }));
  }
  const table = record.losses ?? record.commits;
  const sign = losses && record.losses ? -1 : 1;
  rows.push(el("h3", {}, `${sign < 0 ? "Losses" : "Rewards"}, ${unit}`));
  const cells = Object.entries(table).flatMap(([commit, row]) => Object.entries(row).map(([name, value]) => [commit, name, value]));
  for (const [commit, name, value] of cells.slice(0, 24)) {
    const now = changes.rewards[commit]?.[name];
    rows.push(slider(`${commit} when ${name}`, now === undefined ? value : sign * now,
      { low: sign < 0 ? 0 : Math.min(-scale, 2 * value), high: Math.max(scale, 2 * value), flip: `reward of ${commit} in ${name}` },
      (chosen) => { changes.rewards[commit] = { ...changes.rewards[commit], [name]: sign * chosen }; update(); }));
  }
  if (cells.length > 24) rows.push(el("p", { class: "quiet" }, `${cells.length - 24} more can be changed in the Model view.`));
  place.replaceChildren(el("div", { class: "row" }, el("h2", {}, "What if"),
    el("button", { type: "button", class: "small", onclick: () => { changes = fresh(); rebuild(); } }, "back to the model")), ...rows);
}

function slider(name, value, { low, high, step, flip, text = (shown) => number(shown) }, change) {
  const shown = el("output", {}, text(value));
  const input = el("input", { type: "range", min: low, max: high, step: step ?? Number(((high - low) / 400).toPrecision(2)),
    value, "aria-label": name, oninput: (event) => { shown.textContent = text(Number(event.target.value)); change(Number(event.target.value)); } });
  input.value = value;
  return el("div", { class: "slider" }, el("label", {}, el("span", { class: "name" }, name), input), shown, el("span", { class: "flip quiet", "data-flip": flip }));
}

// One probability moves, the others keep their proportions.
function moved(prior, name, value) {
  const rest = Object.entries(prior).reduce((sum, [other, share]) => sum + (other === name ? 0 : share), 0);
  const count = Object.keys(prior).length - 1;
  return Object.fromEntries(Object.entries(prior).map(([other, share]) =>
    [other, other === name ? value : rest > 0 ? (share * (1 - value)) / rest : (1 - value) / count]));
}
