// The part of the form that is about one test: its price, how good it is in one of six ways, where its numbers come from.

import { el, number, percent } from "./dom.js";
import { area, choice, dotted, field, placed } from "./fields.js";

export const NUMBERS = {
  rates: { sensitivity: "Sensitivity", specificity: "Specificity" },
  ratios: { lr_positive: "LR+", lr_negative: "LR−" },
  counts: { tp: "Ill and positive", fn: "Ill and negative", fp: "Well and positive", tn: "Well and negative" },
  predictive: { ppv: "Positive predictive value", npv: "Negative predictive value", share_positive: "Share that is positive" },
};
const WAYS = {
  rates: "sensitivity and specificity", ratios: "likelihood ratios", counts: "counts of a study", predictive: "predictive values",
  groups: "groups, as of a score", table: "a table of chances",
};
const SEVERAL = ["groups", "table"]; // ways for more than two states

export const blankTest = (states) => ({ name: "", cost: "", way: states === 2 ? "rates" : "table", numbers: {}, outcomes: states === 2 ? [] : ["negative", "positive"],
  shares: [], rows: Array.from({ length: states }, () => []), sources: {}, note: "", more: "" });

// A card for a test; `changed` after typing, `redraw` after a change of what there is to fill in.
export function testCard(form, test, place, { changed, redraw, remove }) {
  const at = (...rest) => () => dotted("tests", test.name, ...rest.map((one) => (typeof one === "function" ? one() : one)));
  const set = (name) => (value) => { test[name] = value; changed(); };
  const two = form.states.length === 2;
  const ways = Object.fromEntries(Object.entries(WAYS).filter(([way]) => two || SEVERAL.includes(way)));
  const title = field("Name", test.name, set("name"), { place: `form.tests.${place}` });
  return placed(el("article", { class: "test-card", "data-test-card": place, "aria-label": `Test ${place + 1}` },
    el("div", { class: "flds" }, title, field(`Price${form.unit ? `, ${form.unit}` : ""}`, test.cost, set("cost"), { place: at("cost"), width: "num" }),
      choice("How good it is, by", test.way, ways, (way) => { turn(form, test, way); redraw(); }),
      el("button", { type: "button", class: "small remove", "aria-label": `Remove test ${place + 1}`, onclick: remove }, "Remove")),
    test.way in NUMBERS ? numbers(form, test, at, changed) : rows(form, test, at, { changed, redraw }),
    el("p", { class: "quiet reads", "data-reads": place }),
    el("details", { class: "further" }, el("summary", {}, "Sources, note, names of results"),
      el("div", { class: "flds" }, field("Source of the price", test.sources.cost, (value) => { test.sources.cost = value; changed(); }),
        sourced(test).map((name) => field(name === "all" ? "Source" : `Source of ${name.replaceAll("_", " ")}`, test.sources[name], (value) => { test.sources[name] = value; changed(); })),
        test.way in NUMBERS ? ["negative", "positive"].map((usual, i) => field(`A ${usual} result is called`, test.outcomes[i] ?? "", (value) => {
          const named = [test.outcomes[0] || "negative", test.outcomes[1] || "positive", ...test.outcomes.slice(2)];
          named[i] = value.trim() || usual;
          test.outcomes = named.join() === "negative,positive" ? [] : named;
          changed();
        }, { place: i ? null : at("outcomes"), placeholder: usual })) : null),
      el("div", { class: "flds" }, field("Note", test.note, set("note"), { wide: true })),
      area("Further fields, as text (after, group, repeat, inconclusive …)", test.more, set("more"), { place: at("more"), rows: 2 }))), at());
}

const sourced = (test) => {
  const own = Object.keys(NUMBERS[test.way] ?? {});
  return [...new Set([...(own.length ? own : ["likelihood"]), ...Object.keys(test.sources)])].filter((name) => name !== "cost");
};

// Another way of giving the same test begins with fields of its own; what was typed in the old ones goes.
function turn(form, test, way) {
  Object.assign(test, { way, numbers: {} });
  if (way in NUMBERS) test.outcomes = [];
  else if (test.outcomes.length < 2) test.outcomes = way === "groups" ? ["low", "moderate", "high"] : ["negative", "positive"];
  test.shares = [];
  test.rows = form.states.map(() => []);
}

function numbers(form, test, at, changed) {
  const other = form.states.find((name) => name !== form.positive);
  const words = { ...NUMBERS[test.way] };
  const hints = { sensitivity: `of those with ${form.positive}, positive`, specificity: `of those with ${other}, negative`,
    ppv: `of the positive, with ${form.positive}`, npv: `of the negative, with ${other}`, share_positive: "of all who are tested" };
  if (test.way === "counts") {
    Object.assign(words, { tp: `${form.positive}, positive`, fn: `${form.positive}, negative`, fp: `${other}, positive`, tn: `${other}, negative` });
  }
  return el("div", { class: "flds" }, Object.entries(words).map(([name, label]) =>
    field(label, test.numbers[name], (value) => { test.numbers[name] = value; changed(); },
      { place: at(name), hint: hints[name], slide: test.way === "rates", width: "num", placeholder: test.way === "rates" ? "95% or 19 of 20" : "" })));
}

// A row for each result or group, a column for each state.
function rows(form, test, at, { changed, redraw }) {
  const groups = test.way === "groups";
  const two = form.states.length === 2;
  const shown = form.states.map((name, i) => ({ name, i })).filter(({ name }) => !(groups && two && form.positive) || name === form.positive);
  const cell = (values, number, label, place) => field(label, values[number], (value) => { values[number] = value; changed(); }, { place, short: true, width: "num" });
  for (const { i } of shown) test.rows[i] ??= [];
  const line = (outcome, number) => el("tr", {},
    el("td", { class: "words" }, field(`Name of result ${number + 1}`, outcome, (value) => { test.outcomes[number] = value; changed(); }, { short: true, place: at(groups ? "shares" : "outcomes", number) })),
    groups ? el("td", {}, cell(test.shares, number, `Share of people in ${outcome}`, at("shares", () => test.outcomes[number]))) : null,
    shown.map(({ name, i }) => el("td", {}, cell(test.rows[i], number, groups ? `Chance of ${name} in ${outcome}` : `Chance of ${outcome} in ${name}`,
      groups ? at("chances", () => test.outcomes[number], ...(two ? [] : [() => form.states[i]])) : at("likelihood", () => form.states[i], number)))),
    el("td", {}, test.outcomes.length > 2 ? el("button", { type: "button", class: "small", "aria-label": `Remove ${outcome}`, onclick: () => {
      for (const list of [test.outcomes, test.shares, ...test.rows]) list.splice(number, 1);
      redraw();
    } }, "×") : null));
  return placed(el("div", { class: "scroll" }, el("table", { class: "typed-rows" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, groups ? "group" : "result"), groups ? el("th", { scope: "col" }, "share of people") : null,
      shown.map(({ name }) => el("th", { scope: "col" }, groups ? `chance of ${name}` : `if ${name}`)), el("td", {}))),
    el("tbody", {}, test.outcomes.map(line))),
  el("button", { type: "button", class: "small", onclick: () => { test.outcomes.push(`${groups ? "group" : "result"} ${test.outcomes.length + 1}`); redraw(); } }, groups ? "Add a group" : "Add a result"),
  groups && two ? el("button", { type: "button", class: "small", "data-as-in": test.name, onclick: () => { form.prevalence = `as in ${test.name}`; redraw(); } }, "Take the prevalence from these groups") : null), at(groups ? "chances" : "likelihood"));
}

// What the server read in the numbers of a test.
export function reads(test, found) {
  const read = found.find(({ name }) => name === test?.name);
  if (!read || read.sensitivity === null) return "";
  const rates = test.way === "rates" ? "" : `Sensitivity ${percent(read.sensitivity)}, specificity ${percent(read.specificity)}. `;
  const ratios = test.way === "ratios" ? "" : `LR+ ${number(read.lr_positive)}, LR− ${number(read.lr_negative)}. `;
  return `${rates}${ratios}${read.words ? `${read.words[0].toUpperCase()}${read.words.slice(1)}.` : ""}`;
}
