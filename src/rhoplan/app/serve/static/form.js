// A model made in a form. What is typed is sent to the server, which writes it as a model file, reads that file and says
// what is wrong beside the field, or what the numbers come to. Text and form are two views of the same file.

import { ask, download, el, later, latest, percent } from "./dom.js";
import { state } from "./state.js";
import { openModel, tell } from "./app.js";
import { area, choice, dotted, field, mark, replace, unmark } from "./fields.js";
import { blankTest, reads, testCard } from "./formtests.js";
import { titled, word } from "./prefs.js";

const check = latest((signal, body) => ask("form/check", body, { signal }));

// What is being made: `owner` is the model it began with, `form` what is in the fields, `text` that as a file and `written`
// the form that the text is of. What it was at first stays as it was written, comments and all, until something is changed.
let draft = null;

const NEW = "a new model";
const owner = () => (state.model ? `${state.model.problem} ${state.model.digest}` : NEW);
const mine = () => (draft?.owner === owner() ? draft : null);
const begin = (form, text, layout = "") => {
  const was = JSON.stringify(form);
  draft = { owner: owner(), form, text, layout, first: text, was, written: was };
};
const asked = (made) => ({ form: made.form, name: nameFor(made.form), text: made.layout });
const write = (made, written, text) => Object.assign(made, { written }, text === null ? {} : { text: written === made.was ? made.first : text });

// Text that was changed in the form, for the text view, with what was typed a moment ago; and the other way round.
export async function draftText() {
  const made = mine();
  const now = JSON.stringify(made?.form);
  if (made && now !== made.written) write(made, now, (await ask("form/check", asked(made))).text);
  return made?.text ?? null;
}
export async function fromText(text, language) {
  const { form } = await ask("form/read", { text, language });
  begin(form, text, language === "yaml" ? text : "");
}

export async function showNew() {
  if (!mine()) {
    const states = ["well", "ill"];
    begin({ name: "", about: "", unit: "EUR", field: "", states, positive: "ill", prevalence: "", prior: [], tests: [blankTest(2)], stakes: "losses",
      decisions: [{ name: "leave", amounts: ["0", ""] }, { name: "treat", amounts: ["", "0"] }], threshold: {}, worth: "", sources: {}, more: "" }, null);
  }
  return showForm();
}

// The form of the open model, or why there is none.
export async function showModelForm(asText) {
  if (!mine()?.form) {
    const { text, language } = state.model;
    await fromText(text, language);
  }
  return showForm(asText);
}

async function showForm(asText) {
  const root = el("form", { class: "model-form", "aria-label": "The model as a form", novalidate: true, onsubmit: (event) => event.preventDefault() });
  const said = el("div", { class: "said", role: "status", "aria-live": "polite", id: "form-said" });
  const { form } = draft;
  let examined = null; // the form that what is shown is about: a check of the same that comes later changes nothing

  const examine = async (asking = check) => {
    const made = draft;
    const now = JSON.stringify(form);
    const found = await asking(asked(made));
    if (!found || !root.isConnected || (asking === check && now === examined)) return null;
    examined = now;
    write(made, now, found.text);
    show(found);
    return found;
  };
  const show = ({ sound, error, read, cautions }) => {
    const gap = error?.message.startsWith("fill in");
    said.className = `said ${sound ? "good" : gap ? "" : "bad"}`;
    const threshold = read?.threshold;
    said.replaceChildren(sound ? "✓ Complete." : gap ? `Still to do: ${error.message}.` : `${error.message}.`,
      ...(threshold ? [` Without a test, ${threshold.act} pays from a chance of ${percent(threshold.at)} on.`] : []),
      ...cautions.map(({ text }) => el("div", { class: "doubt" }, `Caution: ${text}`)));
    if (gap || sound) unmark(root);
    else mark(root, error);
    if (!read) return;
    replace(root);
    for (const line of root.querySelectorAll("[data-reads]")) line.textContent = reads(form.tests[line.dataset.reads], read.tests);
    for (const input of root.querySelectorAll("input[data-field]")) stand(input, read);
  };
  const stand = (input, read) => {
    if (!input.stand) return;
    if (input.dataset.field === "prevalence") input.stand(read.prior[read.states.indexOf(form.positive)]);
    for (const test of read.tests) {
      for (const name of ["sensitivity", "specificity"]) if (input.dataset.field === dotted("tests", test.name, name) && test[name] !== null) input.stand(test[name]);
    }
  };
  const look = later(250, () => (JSON.stringify(form) === examined ? null : examine().catch(fail)));
  const fail = (error) => { said.className = "said bad"; said.replaceChildren(error.message); mark(root, error); };
  const draw = (focus) => {
    root.replaceChildren(about(form, parts), stateBox(form, parts), testBox(form, parts), decisionBox(form, parts), moreBox(form, look), said, buttons());
    if (focus) root.querySelector(focus)?.focus();
    examined = null;
    look();
  };
  const parts = { changed: look, redraw: draw };

  // Goes on where the form is sound; otherwise to the field that is not.
  const finish = async (work) => {
    try {
      const found = await examine((body) => ask("form/check", body)); // which no later check gives up
      if (!found) return;
      if (!found.sound) {
        mark(root, found.error)?.focus();
        return;
      }
      await work(found.text);
    } catch (error) { fail(error); }
  };
  const use = (text) => {
    const name = nameFor(form);
    return ask("models", { name, text }).then(() => done(name));
  };
  const save = async (text) => {
    const name = fileOf(state.model?.problem) ? state.model.problem : nameFor(form);
    await saveText(name, text);
  };
  const buttons = () => {
    const file = fileOf(state.model?.problem);
    const { folder } = state.catalogue;
    const where = file ? `Save to ${file}` : folder ? `Save in ‘${folder}’` : null;
    return el("div", { class: "row wrap finish" },
      el("button", { type: "button", class: "small strong", id: "form-use", onclick: () => finish(use) }, file ? "Try it, without saving" : "Get the advice"),
      where ? el("button", { type: "button", class: "small", id: "form-save", onclick: () => finish(save) }, where) : null,
      el("button", { type: "button", class: "small", id: "form-download", onclick: () => finish((text) => download(`${nameFor(form)}.yaml`, text)) }, "Download"));
  };
  draw();
  const head = el("div", { class: "row wrap spread" }, el("h2", {}, state.model ? "Model" : "New model"), asText ? el("div", { class: "row wrap" }, asText) : null);
  return { content: [head, root], start: () => { if (!state.model && !form.name) root.querySelector("input")?.focus({ preventScroll: true }); } };
}

// Uses the model called `name` from now on; what was being made is done.
async function done(name) {
  draft = null;
  await openModel(name, { tab: "Case" });
}

export async function saveText(name, text) {
  const { file, backup } = await ask("save", { name, text });
  await done(name);
  tell(`Saved to ${file}${backup ? `; the old text is in ${backup}` : ""}.`);
}

export const fileOf = (name) => state.catalogue.uploaded.find((one) => one.name === name)?.file ?? null;

// What the server keeps it under: its title, or the name it has; names that are taken get something before or after.
function nameFor(form) {
  const { models, problems, uploaded } = state.catalogue;
  const own = state.model && uploaded.find((one) => one.name === state.model.problem && !one.opened) ? state.model.problem : form.name;
  const plain = own.replace(/[^\w .-]/g, "-").replace(/^[^\w]+/, "").trim().slice(0, 50) || "my model";
  if ([...models, ...problems].some((one) => one.name === plain)) return `my-${plain}`;
  return uploaded.some((one) => one.name === plain && one.opened) ? `${plain} edited` : plain;
}

const setter = (record, changed) => (name) => (value) => { record[name] = value; changed(); };

function about(form, { changed, redraw: draw }) {
  const set = setter(form, changed);
  return el("section", { class: "box" }, el("h3", {}, "What it is about"),
    el("div", { class: "flds" }, field("Title", form.name, set("name"), { place: "name" }), field("In one line", form.about, set("about"), { wide: true, place: "info.about" }),
      field("Prices and losses are counted in", form.unit, set("unit"), { place: "unit", width: "num" }),
      choice("Words of", form.field, { "": "no field", medicine: "medicine", service: "service", inspection: "inspection" }, (value) => { form.field = value; draw(); }, { place: "field" })));
}

function stateBox(form, { changed, redraw: draw }) {
  const two = form.states.length === 2;
  const each = !two || (!form.prevalence && form.prior.some(Boolean)); // a number for each state
  const rename = (i) => (value) => {
    if (form.positive === form.states[i]) form.positive = value;
    form.states[i] = value;
    changed();
  };
  const remove = (i) => {
    const [gone] = form.states.splice(i, 1);
    form.prior.splice(i, 1);
    for (const test of form.tests) test.rows.splice(i, 1);
    for (const one of form.decisions) one.amounts.splice(i, 1);
    if (form.positive === gone) form.positive = "";
    draw();
  };
  const add = () => {
    form.states.push("");
    if (form.states.length > 2) Object.assign(form, { positive: "", prevalence: "" });
    for (const test of form.tests) {
      test.rows.push([]);
      if (form.states.length === 3 && !["groups", "table"].includes(test.way)) Object.assign(test, blankTest(3), { name: test.name, cost: test.cost, more: test.more });
    }
    draw(`[data-field="form.states.${form.states.length - 1}"]`);
  };
  const row = (name, i) => el("div", { class: "flds state-row" },
    field(`State ${i + 1}`, name, rename(i), { place: `form.states.${i}` }),
    two ? el("label", { class: "pick" }, el("input", { type: "radio", name: "positive", checked: form.positive === name, "data-field": i ? null : "positive",
      onchange: () => { form.positive = form.states[i]; draw(); } }), " is looked for") : null,
    each ? field("How frequent", form.prior[i], (value) => { form.prior[i] = value; changed(); }, { place: () => dotted("prior", form.states[i]), width: "num", placeholder: "20%" }) : null,
    two ? null : el("button", { type: "button", class: "small remove", "aria-label": `Remove state ${i + 1}`, onclick: () => remove(i) }, "Remove"));
  return el("section", { class: "box", "data-field": "states" }, el("h3", {}, form.field ? `What can be the case: the ${word("state", form.field)}` : "What can be the case"), form.states.map(row),
    el("div", { class: "flds" }, each ? field("Source of these numbers", form.sources.prior, (value) => { form.sources.prior = value; changed(); }) : [field(`How frequent is ${form.positive || "it"} before any test?`, form.prevalence, (value) => { form.prevalence = value; changed(); },
      { place: "prevalence", slide: true, width: "num", hint: "1%, 0.01 or 1 in 100", placeholder: "1%" }),
    field("Source of this number", form.sources.prevalence, (value) => { form.sources.prevalence = value; changed(); })]),
    el("button", { type: "button", class: "small", id: "add-state", onclick: add }, "Add a state"));
}

function testBox(form, { changed, redraw: draw }) {
  const add = () => {
    form.tests.push(blankTest(form.states.length));
    draw(`[data-field="form.tests.${form.tests.length - 1}"]`);
  };
  return el("section", { class: "box", "data-field": "tests" }, el("h3", {}, titled("tests", form.field)),
    form.tests.map((test, i) => testCard(form, test, i, { changed, redraw: draw, remove: () => { form.tests.splice(i, 1); draw(); } })),
    el("button", { type: "button", class: "small", id: "add-test", onclick: add }, `Add a ${word("test", form.field)}`));
}

const STAKES = { losses: "what each costs (losses)", threshold: "the chance from which on one acts", utilities: "how good each end is (utilities)", commits: "what each brings (rewards)" };

function decisionBox(form, { changed, redraw: draw }) {
  const { stakes, unit } = form;
  const turn = (way) => {
    const [otherwise, act] = form.decisions.map(({ name }) => name);
    if (way === "threshold") form.threshold = { act: act ?? "treat", otherwise: otherwise ?? "leave", at: "", false_alarm: "", miss: "" };
    else if (stakes === "threshold") form.decisions = [form.threshold.otherwise, form.threshold.act].map((name) => ({ name, amounts: form.states.map(() => "") }));
    form.stakes = way;
    draw();
  };
  const ways = Object.fromEntries(Object.entries(STAKES).filter(([way]) => way !== "threshold" || form.states.length === 2));
  const set = setter(form.threshold, changed);
  const cell = (one, name, i) => field(`${one.name}, if ${name}`, one.amounts[i], (value) => { one.amounts[i] = value; changed(); }, { place: () => dotted(stakes, one.name, form.states[i]), short: true, width: "num" });
  const row = (one, i) => el("tr", {}, el("td", { class: "words" }, field(`Decision ${i + 1}`, one.name, (value) => { one.name = value; changed(); }, { short: true, place: `form.decisions.${i}` })),
    form.states.map((name, k) => el("td", {}, cell(one, name, k))),
    el("td", {}, form.decisions.length > 2 ? el("button", { type: "button", class: "small", "aria-label": `Remove ${one.name}`, onclick: () => { form.decisions.splice(i, 1); draw(); } }, "×") : null));
  const table = () => el("div", { class: "scroll", "data-field": stakes }, el("table", { class: "typed-rows" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, word("commit", form.field)), form.states.map((name) => el("th", { scope: "col" }, `if ${name}`)), el("td", {}))),
    el("tbody", {}, form.decisions.map(row))),
  el("button", { type: "button", class: "small", onclick: () => { form.decisions.push({ name: "", amounts: form.states.map(() => "") }); draw(); } }, `Add a ${word("commit", form.field)}`));
  const threshold = () => el("div", { class: "flds", "data-field": "threshold" },
    field("Act by", form.threshold.act, set("act"), { place: "threshold.act" }), field("Otherwise", form.threshold.otherwise, set("otherwise"), { place: "threshold.otherwise" }),
    field(`Act from a chance of ${form.positive} of`, form.threshold.at, set("at"), { place: "threshold.at", width: "num", slide: true, placeholder: "5%" }),
    field(`A false alarm costs, ${unit}`, form.threshold.false_alarm, set("false_alarm"), { place: "threshold.false_alarm", width: "num", hint: "this, or what a miss costs" }),
    field(`A miss costs, ${unit}`, form.threshold.miss, set("miss"), { place: "threshold.miss", width: "num" }));
  return el("section", { class: "box" }, el("h3", {}, `${titled("commits", form.field)}, and what they come to`),
    el("div", { class: "flds" }, choice("Given by", stakes, ways, turn, { place: "stakes" }),
      field("Source of these numbers", form.sources[stakes], (value) => { form.sources[stakes] = value; changed(); })),
    stakes === "threshold" ? threshold() : table(),
    stakes === "utilities" ? el("div", { class: "flds" }, field(`One of utility is worth, ${unit}`, form.worth, (value) => { form.worth = value; changed(); }, { place: "worth", width: "num", placeholder: "1" })) : null,
    stakes === "losses" ? el("p", { class: "quiet" }, `In ${unit || "the unit"}, from 0 for the best. The cost of tests is counted apart.`) : null);
}

const moreBox = (form, changed) => el("details", { class: "box further" }, el("summary", {}, "Further fields, as text (cap, horizon, groups, panels, notes)"),
  area("Lines of the model file", form.more, (value) => { form.more = value; changed(); }, { place: "more", rows: 5 }));
