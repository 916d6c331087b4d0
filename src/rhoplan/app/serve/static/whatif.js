// What if the numbers were others: sliders for prior, costs, losses and weight, live advice, and where it flips.

import { amount, ask, beliefBars, counted, el, later, latest, number, percent } from "./dom.js";
import { given, question, state, unavailable, weight, weightLimit } from "./state.js";

let owner = null;
let changes = fresh();

function fresh() {
  return { prior: null, costs: {}, rewards: {}, first_prices: {}, weight: null };
}

function body(more) {
  const set = (map) => (Object.keys(map).length ? map : null);
  return question({ given: given(), unavailable: unavailable(), base_weight: weight(),
    weight: changes.weight ?? weight(), prior: changes.prior, costs: set(changes.costs), rewards: set(changes.rewards),
    first_prices: set(changes.first_prices), ...more });
}

const quick = latest((signal) => ask("what-if", body({ flips: false }), { signal }));
// One kind of number after another, so that the first answers are there early.
const KINDS = [["prior", "weight"], ["cost", "first price"], ["reward", "loss"]];
const thorough = latest(async (signal, tell) => {
  const found = [];
  for (const only of KINDS) {
    const part = await ask("what-if", body({ flips: true, only, budget: 8 }), { signal });
    found.push(...part.flips);
    tell(found, only === KINDS.at(-1));
  }
});

export async function showWhatIf() {
  const mine = `${state.model.problem} ${state.model.digest}`;
  if (owner !== mine) {
    owner = mine;
    changes = fresh();
  }
  const banner = el("div", { class: "banner", role: "status", "aria-live": "polite" });
  const answer = el("section", { class: "box next" });
  const flips = el("section", { class: "box" });
  const sliders = el("section", { class: "box sliders" });
  const content = el("div", { class: "whatif" }, el("div", { class: "column" }, banner, answer, flips), sliders);
  const gone = () => !content.isConnected; // another view is there by now
  const fail = (error) => { banner.replaceChildren(error.message); banner.className = "banner bad"; };
  const examine = later(500, async () => {
    if (gone()) return;
    try {
      await thorough((found, done) => !gone() && drawFlips(flips, sliders, found, done));
    } catch (error) { fail(error); }
  });
  const update = async () => {
    flips.replaceChildren(el("h2", {}, "Where it flips"), el("p", { class: "quiet" }, "looking …"));
    for (const mark of sliders.querySelectorAll(".flip, .marks")) mark.replaceChildren();
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
  const found = await quick();
  if (!found) return null;
  drawAnswer(banner, answer, found);
  drawSliders(sliders, update, rebuild);
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
      advice.is_test ? `Still to come: ${counted(advice.ahead.tests, "test")}, about ${amount(advice.ahead.cost, unit)}.${advice.ahead.cut_off ? ` ${advice.ahead.cut_off}.` : ""}` : "Nothing is still to come."),
    advice.runner_up ? el("p", { class: "quiet" }, `Runner-up: ${advice.runner_up}, ${advice.margin < 1e-9 ? "a tie" : `${amount(advice.margin, unit)} behind`}.`) : "");
}

function drawFlips(place, sliders, flips, done) {
  const rows = [];
  for (const flip of flips) {
    // A model written with rewards that are all losses is examined as losses, and its sliders stay rewards.
    const turned = flip.kind === "loss" && !state.model.record.losses;
    const said = [];
    for (const [edge, way] of [[flip.down, turned ? "above" : "below"], [flip.up, turned ? "below" : "above"]]) {
      const value = turned ? -edge.value : edge.value;
      if (edge.status === "flips") said.push({ text: `${way} ${show(flip, value)} it becomes ${edge.then}`, far: distance(flip, edge.value), value });
      else if (edge.status === "not examined") said.push({ text: `${way}: not examined`, far: Infinity });
    }
    const line = sliders.querySelector(`[data-flip="${CSS.escape(flip.parameter)}"]`);
    const found = said.filter((one) => one.far < Infinity);
    if (line) {
      line.textContent = (said.length === 2 && !found.length ? "not examined in time" : said.map((one) => one.text).join("; ")) || "no flip within its range";
      line.closest(".slider").mark(found.map((one) => one.value));
    }
    rows.push(...found.map((one) => ({ ...one, name: turned ? flip.parameter.replace("loss", "reward") : flip.parameter })));
  }
  rows.sort((a, b) => a.far - b.far);
  place.replaceChildren(...[el("h2", {}, "Where it flips"), rows.length
    ? el("ul", { class: "flips" }, rows.slice(0, 8).map((row) => el("li", {}, el("b", {}, row.name), ` ${row.text}`)))
    : el("p", {}, done ? "No single number that was examined flips the first action." : "looking …"),
  done ? null : el("p", { class: "quiet" }, "still looking …"),
  el("p", { class: "quiet" }, "Nearest first, relative to the value now. Each flip was computed on both sides.")].filter(Boolean));
}

const show = (flip, value) => (flip.quantity === "probability" ? percentFine(value) : number(value));
const percentFine = (value) => `${Number((100 * value).toPrecision(3))}%`;

function distance(flip, value) {
  if (flip.quantity === "probability") return Math.abs(logit(value) - logit(flip.value));
  return Math.abs(value - flip.value) / Math.max(Math.abs(flip.value), 1e-9);
}
const logit = (p) => Math.log(Math.max(p, 1e-9) / Math.max(1 - p, 1e-9));

// Where a slider stands for a value, from 0 to 1, and back. Chances move in odds, so that rare states can be set too.
const inOdds = (value) => {
  const reach = Math.max(7, Math.abs(logit(value)) + 3);
  return { place: (p) => (logit(p) + reach) / (2 * reach), value: (at) => 1 / (1 + Math.exp(reach - 2 * reach * at)), percent: true };
};
const squared = (high) => ({ place: (value) => Math.sqrt(value / high), value: (at) => high * at ** 2, least: 0, high });
const straight = (low, high) => ({ place: (value) => (value - low) / (high - low), value: (at) => low + (high - low) * at });

const FOLDED = 12;
const SHOWN = 24;

function drawSliders(place, update, rebuild) {
  const { record, reward_unit: unit, losses, states } = state.model;
  const start = Object.fromEntries(states.map((name, i) => [name, record.prior[i]]));
  const prior = { ...(changes.prior ?? start) };
  const scale = state.model.reward_scale;
  const price = (value) => squared(value > 0 ? 20 * value : scale / 20);
  const priors = (states.length === 2 ? [record.positive ?? states[1]] : states).map((name) => ["P of " + name, prior[name], inOdds(start[name]), `prior of ${name}`, (value) => {
    changes.prior = moved(prior, name, value);
    Object.assign(prior, changes.prior);
    for (const one of place.querySelectorAll(".slider")) one.refresh?.(prior);
  }, name]);
  const costs = [...Object.entries(record.tests).map(([name, test]) =>
    [name, changes.costs[name] ?? test.cost, price(test.cost), `cost of ${name}`, (value) => { changes.costs[name] = value; }]),
  ...Object.entries(record.groups ?? {}).filter(([, group]) => group.first !== undefined).map(([name, group]) =>
    [`first of ${name}`, changes.first_prices[name] ?? group.first, price(group.first), `first price of ${name}`, (value) => { changes.first_prices[name] = value; }])];
  const sign = record.losses ? -1 : 1;
  const cells = Object.entries(record.losses ?? record.commits).flatMap(([commit, row]) => Object.entries(row).map(([name, value]) => {
    const now = changes.rewards[commit]?.[name];
    const reach = Math.max(scale, 2 * Math.abs(value));
    return [`${commit} when ${name}`, now === undefined ? value : sign * now, sign < 0 ? squared(value > 0 ? 4 * value : scale) : straight(-reach, reach),
      `${state.model.stake} of ${commit} in ${name}`, (chosen) => { changes.rewards[commit] = { ...changes.rewards[commit], [name]: sign * chosen }; }];
  }));
  const group = (title, rows) => el("details", { class: "group", open: rows.length <= FOLDED }, el("summary", {}, title),
    rows.slice(0, SHOWN).map((row) => slider(row, update)),
    rows.length > SHOWN ? el("p", { class: "quiet" }, `${rows.length - SHOWN} more can be changed in the Model view.`) : null);
  place.replaceChildren(el("div", { class: "row" }, el("h2", {}, "What if"),
    el("button", { type: "button", class: "small", onclick: () => { changes = fresh(); rebuild(); } }, "back to the model")),
  group("Prior: how likely before anything is seen", priors),
  group(`Price of information, ${unit} per nat`, [["weight", changes.weight ?? weight(), squared(weightLimit()), "weight", (value) => { changes.weight = value; }]]),
  group(`Costs of tests, ${unit}`, costs), group(`${losses ? "Losses" : "Rewards"}, ${unit}`, cells));
}

function slider([name, value, first, flip, change, key], update) {
  let scale = first;
  const factor = scale.percent ? 100 : 1;
  const shown = (one) => String(Number((factor * one).toPrecision(4)));
  const at = (one) => Math.max(0, Math.min(1, scale.place(one)));
  const range = el("input", { type: "range", min: 0, max: 1000, step: 1, "aria-label": name });
  const typed = el("input", { type: "number", step: "any", min: scale.percent ? 0 : scale.least, max: scale.percent ? 100 : null, "aria-label": `${name}, number` });
  let current = value;
  const put = (one) => {
    current = one;
    range.value = 1000 * at(one);
    range.setAttribute("aria-valuetext", `${shown(one)}${scale.percent ? "%" : ""}`);
    typed.value = shown(one);
  };
  const use = (one) => {
    current = one;
    change(one);
    update();
  };
  range.addEventListener("input", () => {
    const one = Number(scale.value(range.value / 1000).toPrecision(3));
    typed.value = shown(one);
    range.setAttribute("aria-valuetext", typed.value);
    use(one);
  });
  typed.addEventListener("change", () => {
    const one = Number(typed.value) / factor;
    if (typed.value === "" || !typed.validity.valid || (scale.percent && (one <= 0 || one >= 1))) put(current);
    else { put(one); use(one); }
  });
  const marks = el("span", { class: "marks", "aria-hidden": "true" });
  const box = el("div", { class: "slider" }, el("span", { class: "name" }, name), el("span", { class: "track" }, range, marks),
    el("span", { class: "typed" }, typed, scale.percent ? " %" : ""), el("span", { class: "flip quiet", "data-flip": flip }));
  box.mark = (values) => { // a flip beyond the end of the slider makes it longer
    if (Math.max(...values) > scale.high) {
      scale = squared(1.5 * Math.max(...values));
      put(current);
    }
    marks.replaceChildren(...values.map(at).filter((one) => one > 0 && one < 1).map((one) => el("i", { style: { left: `calc(8px + ${one} * (100% - 16px))` } })));
  };
  if (key !== undefined) box.refresh = (prior) => document.activeElement !== range && document.activeElement !== typed && put(prior[key]);
  put(value);
  return box;
}

// One probability moves, the others keep their proportions.
function moved(prior, name, value) {
  const rest = Object.entries(prior).reduce((sum, [other, share]) => sum + (other === name ? 0 : share), 0);
  const count = Object.keys(prior).length - 1;
  return Object.fromEntries(Object.entries(prior).map(([other, share]) =>
    [other, other === name ? value : rest > 0 ? (share * (1 - value)) / rest : (1 - value) / count]));
}
