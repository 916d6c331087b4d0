// The case log: what was done and why, and the case as a file that `rhoplan replay` computes again.

import { ask, download, el, number, percent } from "./dom.js";
import { did, overrides, question, remember, state } from "./state.js";
import { openModel, reset, run, tell, undo } from "./app.js";
import { UNKNOWN, startOf, undoStep } from "./start.js";

export function logBox({ title, empty, total }) {
  const { entries, model } = state;
  return el("section", { class: "box log" }, el("div", { class: "row" }, el("h2", {}, title),
    el("button", { type: "button", class: "small", id: "undo", disabled: !entries.length, onclick: undo }, el("kbd", {}, "u"), " undo")),
  entries.length ? el("ol", {}, entries.map(row)) : el("p", { class: "quiet" }, empty), el("p", {}, total),
  el("div", { class: "row wrap noprint" },
    model.flat ? el("button", { type: "button", class: "small", id: "save", disabled: !entries.length, onclick: () => run(saveCase, "Saving …") }, "Save") : null,
    el("label", { class: "small button" }, "Open …", el("input", { type: "file", id: "open-case", class: "unseen", accept: ".json,.jsonl",
      "aria-label": "Open a saved case", onchange: ({ target }) => run(() => openCase(target), "Opening …") })),
    entries.length ? el("button", { type: "button", class: "small", id: "new-case", onclick: reset }, "New") : null));
}

function row(entry, i) {
  const what = entry.commit !== undefined ? [el("b", {}, entry.commit), " to end it"]
    : entry.unavailable !== undefined ? [el("b", {}, entry.unavailable), " not available"]
      : [el("b", {}, entry.test), entry.outcome === "done" ? "" : entry.outcome === UNKNOWN ? ": result not known" : `: ${entry.outcome}`];
  const other = overrides(entry);
  return el("li", {}, el("div", { class: "row" }, el("span", {}, what), entry.cost ? el("span", { class: "number" }, number(-entry.cost)) : null,
    state.model.flat && i < state.entries.length - 1 ? el("button", { type: "button", class: "small undo-step noprint", "data-undo": i, "aria-label": `Undo step ${i + 1}`, onclick: () => undoStep(i) }, "undo") : null),
    moved(entry), other ? el("div", { class: "quiet" }, `instead of ${entry.advised}`) : null,
    other || entry.why ? whyField(entry, i) : null);
}

export function moved({ before, after, outcome }) {
  if (!before || !after || outcome === undefined || outcome === UNKNOWN) return null;
  const states = Object.keys(before);
  const name = states.length === 2 ? (state.model.record.positive ?? states[1])
    : states.reduce((best, one) => (Math.abs(after[one] - before[one]) > Math.abs(after[best] - before[best]) ? one : best));
  return el("div", { class: "quiet" }, `${name} ${percent(before[name])} → ${percent(after[name])}`);
}

function whyField(entry, i) {
  const done = (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    document.querySelector(".next")?.focus();
  };
  const said = el("span", { class: "printonly" }, entry.why);
  const last = state.entries.findLastIndex((one) => overrides(one) || one.why) === i;
  return el("div", { class: "reason-field" }, last ? el("kbd", {}, "w") : null, el("input", { type: "text", class: "why", id: `why-${i}`, value: entry.why, maxlength: 500, placeholder: "why? (optional)",
    autocomplete: "off", "aria-label": `Why ${did(entry)} instead of ${entry.advised}? Optional`, onkeydown: done,
    oninput: (event) => {
      entry.why = event.target.value;
      said.textContent = entry.why;
      remember();
    } }), said);
}

// The key w goes to the last reason that can be given.
export const toReason = () => [...document.querySelectorAll(".why")].at(-1)?.focus();

const SAID = ["test", "outcome", "unavailable", "commit", "why", "agent"];

// What an entry says to the server.
export const toSay = (entry) => Object.fromEntries(SAID.map((name) => [name, entry[name]]));

// The server writes the line, so that page and terminal keep the same.
export async function saveCase() {
  const line = await ask("journal", question({ entries: state.entries.map(toSay), ...startOf() }), { raw: true });
  download(`${state.model.problem.replace(/[^\w.-]+/g, "-")}-case.json`, `${line}\n`, "application/json");
}

async function openCase(input) {
  const [file] = input.files;
  if (!file) return;
  const text = await file.text();
  input.value = "";
  const { case: record, cases, difference, known, weight_per_nat: price } = await ask("replay", { text });
  const name = known ?? freeName(record.problem);
  if (!known) await ask("models", { name, text: record.model });
  await openModel(name, { tab: "Case", record: { ...record, price } });
  const said = [`Opened ${file.name}: ${record.entries.length} ${record.entries.length === 1 ? "entry" : "entries"}.`];
  if (cases > 1) said.push(`The file holds ${cases} cases; this is the last.`);
  if (difference) said.push(`At step ${difference.step} of case ${difference.case}: ${difference.what}.`);
  if (!PLAIN.includes(record.agent.name)) said.push(`It was advised by ${record.agent.name}; the page goes on with planning-ig.`);
  tell(said.join(" "));
}

// Agents that differ from planning-ig in nothing but weight and horizon.
const PLAIN = ["planning-ig", "efe", "planning", "myopic", "info-gain"];

function freeName(spec) {
  const { models, problems, uploaded } = state.catalogue;
  const taken = [...models, ...problems, ...uploaded].map((one) => one.name);
  const stem = spec.split(/[/\\]/).at(-1).replace(/\.(ya?ml|json|toml)$/i, "").replace(/[^\w .-]+/g, "-").replace(/^\W+/, "").slice(0, 50) || "case";
  let name = stem;
  for (let i = 2; taken.includes(name); i += 1) name = `${stem} ${i}`;
  return name;
}

export function fromRecord({ entries, agent, price, prior = null, known = [] }) {
  const kept = entries.map((entry, i) => ({
    ...Object.fromEntries(SAID.filter((name) => entry[name] !== undefined).map((name) => [name, entry[name]])),
    agent: entry.agent ?? agent, advised: entry.advised.do, before: entry.advised.belief, after: entries[i + 1]?.advised.belief,
    cost: entry.advised.options.find((option) => option.test === entry.test)?.cost ?? 0 }));
  const { horizon, discount, utility, target, near } = agent;
  return { start: { prior, known }, entries: kept, agent: { weight: price, horizon, discount, utility, target, near } };
}
