// What uncertain numbers mean: how often the first action is right, which study is worth making, one number at a time.

import { amount, ask, bar, beliefBars, el, latest, number, percent } from "./dom.js";
import { question, stake, state } from "./state.js";
import { redraw } from "./app.js";
import { caseOf } from "./start.js";
import { numberField, valueOf } from "./typed.js";
import { curveBox, mapBox } from "./uncertain-charts.js";

const SPREADS = [0.05, 0.1, 0.2, 0.3];
const ROWS = 12;
const NEGLIGIBLE = 1e-4; // share of what knowing everything is worth below which a study is not listed

let wanted = null; // what is asked for, of the model with this digest

function settings() {
  if (wanted?.digest !== state.model.digest) {
    wanted = { digest: state.model.digest, samples: 1000, seed: 0, spread: isUnsure() ? null : 0.1, cases: null, map: null };
  }
  return wanted;
}

// Whether the model says how well its numbers are known.
export const isUnsure = () => Boolean(state.model.record?.uncertain);

// How sure the advice on a case is, in a line.
export function drawSure(place, { content, words }) {
  const told = content ? [`right in ${percent(content.share)} of what the numbers allow; expected ${stake()} from here on ${amount(content.total.mean, state.model.reward_unit)}, `
    + `95% interval ${number(content.total.low)} to ${number(content.total.high)}. `, el("span", { class: "quiet" }, `Estimated from ${number(content.samples)} versions of the numbers, SE ${percent(content.se)}.`)] : `${words}.`;
  place.append(el("p", { class: "sure", "data-sure": content?.share ?? "" }, el("b", {}, "How sure is this advice, given the numbers' own uncertainty? "), told));
}

const fetchAll = latest((signal) => {
  const { samples, seed, spread, cases, map } = settings();
  return ask("uncertainty", question({ ...caseOf(), samples, seed, spread, map, cases_per_year: cases }), { signal });
});

export async function showUncertain() {
  const found = await fetchAll();
  if (!found) return null;
  const spoken = `${found.first} is right in ${percent(found.chance_right.share)} of what the numbers allow`;
  const choose = (axes) => set({ map: axes });
  const charts = [mapBox(found, choose), curveBox(found)].filter(Boolean);
  const boxes = [settingsBox(found), rightBox(found), rankingBox(found), tornadoBox(found)];
  return { content: [...boxes, el("div", { class: charts.length > 1 ? "unsure-pair" : "unsure-one" }, charts)], spoken };
}

function set(change) {
  wanted = { ...settings(), ...change };
  redraw();
}

function settingsBox({ words }) {
  const now = settings();
  const choices = [...(isUnsure() ? [[null, "as the model states"]] : []), ...SPREADS.map((one) => [one, `assume ±${percent(one)}`])];
  const whole = (id, value, least, most, put) => numberField({ id, value: value ?? "", onchange: ({ target }) => {
    const typed = valueOf(target);
    if (typed !== undefined) put(typed);
  } }, { whole: true, least, most });
  return el("section", { class: "box" }, el("h2", {}, "Uncertain numbers"),
    words.map((line) => el("p", {}, line)),
    el("div", { class: "row wrap unsure-settings noprint" },
      el("label", {}, "Numbers are known ", el("select", { id: "unsure-spread", onchange: ({ target }) => set({ spread: target.value === "" ? null : Number(target.value), map: null }) },
        choices.map(([value, name]) => el("option", { value: value ?? "", selected: value === now.spread }, name)))),
      el("label", {}, "Versions drawn ", whole("unsure-samples", now.samples, 50, 20000, (value) => set({ samples: value ?? 1000 }))),
      el("label", {}, "Seed ", whole("unsure-seed", now.seed, 0, 1e9, (value) => set({ seed: value ?? 0 }))),
      el("label", {}, "Cases a year ", whole("unsure-cases", now.cases, 1, 1e9, (value) => set({ cases: value })))));
}

function rightBox({ first, given, chance_right: right, first_actions: actions, total, stake, reward_unit: unit, samples, seed }) {
  const shares = Object.fromEntries(actions.map(({ action, share }) => [action, share]));
  return el("section", { class: "box", "data-right": right.share }, el("h2", {}, given.length ? "Is the next action right?" : "Is the first action right?"),
    el("p", { class: "large" }, el("b", {}, first), ` is right in ${percent(right.share)} of what the numbers allow.`),
    beliefBars(shares, { most: 6 }),
    el("p", {}, `Expected ${stake}${given.length ? " from here on" : ""} ${amount(total.mean, unit)} per case; 95% interval ${number(total.low)} to ${number(total.high)}.`),
    el("p", { class: "quiet" }, `Shares and interval: estimated from ${number(samples)} versions, seed ${seed}; standard error of the first share ${percent(right.se)}. `
      + `Expected ${stake}: ${total.kind === "exact" ? "exact" : `estimated, standard error ${number(total.se)}`}.`));
}

const kind = ({ kind: which, se, samples }) => (which === "exact" ? "exact" : `estimated, SE ${number(se)}, n = ${number(samples)}`);

function rankingBox({ studies, everything, reward_unit: unit, cases_per_year: cases }) {
  const worth = studies.filter(({ value }) => value > NEGLIGIBLE * everything.value);
  const yearly = (one) => (cases ? `${amount(one.per_year, unit)} a year` : null);
  const top = worth[0]?.value;
  return el("section", { class: "box", "data-ranking": worth.length }, el("h2", {}, "Which study is worth making?"),
    el("p", {}, `Knowing every number exactly would be worth ${amount(everything.value, unit)} per case`, cases ? `, ${yearly(everything)}` : "", ". ",
      el("span", { class: "quiet" }, `${kind(everything)}.`)),
    worth.length
      ? el("div", { class: "scroll" }, el("table", { class: "stack" }, el("thead", {}, el("tr", {}, ["to know", "", `worth, ${unit} per case`, cases ? `${unit} a year` : null, "which is"]
        .filter((name) => name !== null).map((name) => el("th", { scope: "col" }, name || el("span", { class: "unseen" }, "as a bar"))))),
      el("tbody", {}, worth.slice(0, ROWS).map((one) => el("tr", {}, el("th", { scope: "row" }, one.name),
        el("td", { class: "unsure-bar", "aria-hidden": "true" }, bar(one.value / top)), el("td", { "data-label": "worth per case" }, number(one.value)),
        cases ? el("td", { "data-label": "a year" }, number(one.per_year)) : null, el("td", { "data-label": "which is" }, kind(one)))))))
      : el("p", {}, "No single study would change what to do."),
    worth.length > ROWS ? el("p", { class: "quiet" }, `${worth.length - ROWS} more are worth less.`) : null,
    el("p", { class: "quiet" }, "The most that a study could be worth, if it told the numbers exactly; a study of a test tells all its chances."));
}

export const shown = ({ quantity }, value) => (quantity === "probability" ? `${Number((100 * value).toPrecision(3))}%` : number(value));

function tornadoBox({ tornado, stake, total, first, reward_unit: unit }) {
  const rows = tornado.slice(0, ROWS);
  const ends = rows.flatMap(({ low, high }) => [low.kept, high.kept]);
  const [least, most] = [Math.min(total.mean, ...ends), Math.max(total.mean, ...ends)];
  const place = (value) => 100 * (most > least ? (value - least) / (most - least) : 0.5);
  const track = ({ low, high }) => {
    const [from, to] = [low.kept, high.kept].map(place).sort((a, b) => a - b);
    return el("div", { class: "swing", "aria-hidden": "true" }, el("div", { class: "fill", style: { left: `${from}%`, width: `${Math.max(to - from, 0.4)}%` } }),
      el("i", { style: { left: `${place(total.mean)}%` } }));
  };
  const then = (one, end) => (end.first === first ? null : el("div", { class: "flip" }, `${shown(one, end.value)}: begin with ${end.first}`));
  return el("section", { class: "box", "data-tornado": rows.length }, el("h2", {}, "One number at a time"),
    el("div", { class: "scroll" }, el("table", { class: "stack tornado" }, el("thead", {}, el("tr", {}, ["number", "", `${stake} at its low end`, "at its high end"]
      .map((name) => el("th", { scope: "col" }, name || el("span", { class: "unseen" }, "as a bar"))))),
    el("tbody", {}, rows.map((one) => el("tr", {}, el("th", { scope: "row" }, one.name, then(one, one.low), then(one, one.high)), el("td", { class: "unsure-bar" }, track(one)),
      el("td", { "data-label": `at ${shown(one, one.low.value)}` }, number(one.low.kept), el("div", { class: "quiet wide" }, `at ${shown(one, one.low.value)}`)),
      el("td", { "data-label": `at ${shown(one, one.high.value)}` }, number(one.high.kept), el("div", { class: "quiet wide" }, `at ${shown(one, one.high.value)}`))))))),
    tornado.length > ROWS ? el("p", { class: "quiet" }, `${tornado.length - ROWS} more numbers matter less.`) : null,
    el("p", { class: "quiet" }, `Exact: the ${stake} per case in ${unit} of the plan as it is, with one number at the ends of its 95% interval and the others as stated. Where another first action would be better at an end, it is named.`));
}
