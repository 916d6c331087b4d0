// Learning from a table of past cases: choose the file and the target, fill in prices and losses, see the bill, open the
// model. What is on the screen outlives a look at other views; the table is the server's, under a token.

import { ask, download, el, fixed, latest, lines, number, percent } from "./dom.js";
import { state } from "./state.js";
import { openModel } from "./app.js";
import { numberField, valueOf } from "./typed.js";

let table = null;     // what the server said of the table: its token, cases, columns, warnings; and the file's name
let running = null;   // stops the work

const send = latest((signal, file) => ask("learn/table", file, { signal }));
const draftPlan = latest((signal, target) => ask("learn/draft", { table: table.table, target }, { signal }));

const said = el("p", { class: "said bad", role: "alert", id: "learn-said", hidden: true });
const about = el("div", { role: "status" });
const plan = el("div", {});
const result = el("div", {});
const file = el("input", { type: "file", accept: ".csv,.tsv,.txt,text/csv", id: "learn-file", class: "unseen", onchange: () => {
  if (file.files[0]) take(file.files[0]);
} });
const first = el("section", { class: "box drop" }, el("h2", {}, "Learn from a table of past cases"),
  el("p", {}, "A CSV file: one row a case, one column a test, one column what it turned out to be. Drop it here, or choose it. What comes out is a model, and what following it costs on cases that played no part in making it."),
  el("div", { class: "row wrap" }, el("label", { class: "small button strong" }, "Choose a table …", file),
    el("button", { type: "button", class: "small", id: "learn-forget", hidden: true, onclick: () => forget() }, "Forget the table")),
  el("p", { class: "quiet" }, "The table stays on this machine: the server holds it in memory, writes nothing of it anywhere, and forgets it when you say so, when nobody has used it for a while, or when the server ends."),
  said, about);
const root = el("div", { class: "learn" }, first, plan, result);

// Anywhere on the page: a file dropped beside the box would be opened by the browser instead of it.
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (!root.isConnected) return;
    event.preventDefault();
    first.classList.toggle("over", kind === "dragover");
    if (kind === "drop" && event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  });
}

export async function showLearn() {
  return { content: root };
}

function complain(error) {
  said.hidden = !error;
  said.textContent = error?.message ?? "";
  if (error) said.scrollIntoView({ block: "nearest" });
}

// Do something that may be refused, and say so.
async function attempt(work) {
  complain(null);
  try {
    return await work();
  } catch (error) {
    complain(error);
    return undefined;
  }
}

async function take(chosen) {
  await forget();
  const { table_bytes: most } = state.catalogue.limits;
  if (chosen.size > most) {
    complain({ message: `A table may have ${number(most)} bytes at most; ‘${chosen.name}’ has ${number(chosen.size)}.` });
    return;
  }
  about.replaceChildren(el("p", { class: "working" }, "Reading …"));
  const found = await attempt(() => send(chosen));
  about.replaceChildren();
  if (!found) return;
  table = { ...found, file: chosen.name };
  drawTable();
}

async function forget() {
  running?.abort();
  const old = table;
  table = null;
  file.value = "";
  complain(null);
  at("learn-forget").hidden = true;
  for (const place of [about, plan, result]) place.replaceChildren();
  if (!old) return;
  try {
    await ask(`learn/table/${old.table}`, undefined, { method: "DELETE" });
  } catch (error) {
    if (error.status !== 404) complain(error); // one that is not there is forgotten already
    return;
  }
  about.replaceChildren(el("p", { id: "learn-forgotten" }, `‘${old.file}’ is forgotten.`));
}

const at = (id) => root.querySelector(`#${id}`);
const many = (count, what) => `${number(count)} ${what}${count === 1 ? "" : "s"}`;
const warned = (warnings) => warnings.map((text) => el("p", { class: "note" }, text));
const titled = (...names) => el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name))));

function drawTable() {
  at("learn-forget").hidden = false;
  const target = el("select", { id: "learn-target", onchange: () => drawPlan(target.value) }, el("option", { value: "" }, "choose a column"),
    table.columns.filter((column) => column.target).map(({ name }) => el("option", { value: name }, name)));
  about.replaceChildren(el("p", { id: "learn-about" }, `‘${table.file}’: ${many(table.cases, "case")}, ${many(table.columns.length, "column")}.`),
    ...warned(table.warnings), el("p", {}, el("label", {}, "What it turned out to be ", target)));
  target.focus();
}

async function drawPlan(target) {
  plan.replaceChildren();
  if (!target) return;
  const found = await attempt(() => draftPlan(target));
  if (found) plan.replaceChildren(form(found));
}

// The drafted plan as a form; what it says when it is sent is a plan again.
function form({ plan: drafted, diagnoses }) {
  const field = (id, label, input, hint) => el("label", { class: "field" }, label, " ", Object.assign(input, { id }), hint ? el("span", { class: "quiet" }, ` ${hint}`) : null);
  const tests = table.columns.filter(({ name }) => name !== drafted.target).map((column) => {
    const usual = drafted.tests[column.name];
    const cost = numberField({ required: true, value: usual?.cost ?? "", disabled: !usual, "aria-label": `Price of ${column.name}` }, { least: 0 });
    const tick = el("input", { type: "checkbox", checked: Boolean(usual), disabled: !usual, "aria-label": `${column.name} is a test`, onchange: () => { cost.disabled = !tick.checked; } });
    return { name: column.name, tick, cost, row: el("tr", {}, el("th", { scope: "row" }, el("label", {}, tick, ` ${column.name}`)),
      el("td", { "data-label": "kind" }, column.kind), el("td", { "data-label": "values" }, number(column.distinct)), el("td", { "data-label": "blanks" }, number(column.blanks)), el("td", { "data-label": "price" }, cost)) };
  });
  const names = Object.keys(diagnoses);
  const losses = Object.entries(drafted.losses).map(([decision, row]) => ({ decision, cells: names.map((name) =>
    [name, numberField({ required: true, value: row[name], "aria-label": `Loss of ${decision} where it is ${name}` })]) }));
  const groups = el("select", { id: "learn-group" }, el("option", { value: "" }, "no column"), table.columns.map(({ name }) => el("option", { value: name }, name)));
  const stem = table.file.replace(/\.[^.]*$/, "").replace(/[^\w .-]/g, "-").replace(/^\W+/, "").slice(0, 50) || "table";
  const made = () => {
    const cap = Object.entries({ tests: valueOf(at("learn-most-tests")), spend: valueOf(at("learn-most-spend")) }).filter(([, value]) => value !== null);
    return { unit: at("learn-unit").value, target: drafted.target,
      tests: Object.fromEntries(tests.filter(({ tick }) => tick.checked).map(({ name, cost }) => [name, { cost: valueOf(cost) }])),
      losses: Object.fromEntries(losses.map(({ decision, cells }) => [decision, Object.fromEntries(cells.map(([name, cell]) => [name, valueOf(cell)]))])),
      ...(cap.length ? { cap: Object.fromEntries(cap) } : {}) };
  };
  return el("form", { class: "box", id: "learn-form", onsubmit: (event) => {
    event.preventDefault();
    learn({ table: table.table, plan: made(), name: at("learn-name").value.trim(), folds: valueOf(at("learn-folds")), group: groups.value || null });
  } },
  el("h2", {}, "Prices and losses"),
  el("p", {}, "These are drafts: fill in your own, in one unit. Untick what is no test, above all what is known only after it turned out."),
  el("div", { class: "row wrap" }, field("learn-unit", "Unit", el("input", { type: "text", required: true, maxlength: 40, value: drafted.unit })),
    field("learn-name", "Name of the model", el("input", { type: "text", required: true, maxlength: 60, value: `${stem} learned` }))),
  el("h3", {}, "What each test costs"),
  el("div", { class: "scroll" }, el("table", { class: "stack" }, titled("test", "kind", "values", "blanks", "price"), el("tbody", {}, tests.map(({ row }) => row)))),
  el("h3", {}, "What each decision costs, by what it turns out to be"),
  el("div", { class: "scroll" }, el("table", { class: "losses" }, titled("decision", ...names.map((name) => `${name} (${many(diagnoses[name], "case")})`)),
    el("tbody", {}, losses.map(({ decision, cells }) => el("tr", {}, el("th", { scope: "row" }, decision), cells.map(([, cell]) => el("td", {}, cell))))))),
  el("details", { class: "group" }, el("summary", {}, "Limits, and how it is scored"),
    el("div", { class: "row wrap" }, field("learn-most-tests", "Tests at most", numberField({}, { whole: true, least: 1 })), field("learn-most-spend", "Spend at most", numberField({}, { least: 0 })),
      field("learn-folds", "Folds", numberField({ required: true, value: 3 }, { whole: true, least: 2, most: 20 }), "more take longer, and tell more surely"),
      el("label", { class: "field" }, "Cases with the same ", groups, " stay together"))),
  el("p", {}, el("button", { class: "small strong", id: "learn-start" }, "Learn")));
}

async function learn(body) {
  running?.abort();
  const mine = (running = new AbortController());
  const bar = el("progress", { "aria-label": "Progress", id: "learn-progress" });
  const words = el("span", {}, "Learning …");
  const stop = el("button", { type: "button", class: "small", "data-cancel": "", onclick: () => mine.abort() }, "Cancel");
  const start = at("learn-start");
  start.disabled = true;
  complain(null);
  result.replaceChildren(el("section", { class: "box" }, el("div", { class: "row wrap", role: "status" }, bar, words, stop)));
  stop.focus();
  try {
    for await (const line of lines("learn", body, { signal: mine.signal })) {
      if (line.error) throw new Error(line.error.message);
      if (line.result) await showResult(line.result, mine);
      if (line.progress) {
        Object.assign(bar, { max: line.progress.of, value: line.progress.done });
        words.textContent = `Learning: ${line.progress.done} of ${line.progress.of} parts done.`;
      }
    }
  } catch (error) {
    if (mine === running) result.replaceChildren();
    if (error.name !== "AbortError") complain(error);
    else if (table) result.replaceChildren(el("section", { class: "box" }, el("p", { id: "learn-stopped", role: "status" }, "Stopped; nothing was learned.")));
    start.disabled = false;
    start.focus();
  }
  start.disabled = false;
}

// The model goes to the server at once: it has counts and no case, and the report needs it there.
async function showResult(found, mine) {
  const { name } = await ask("models", { name: found.name, text: found.model }, { signal: mine.signal });
  const { heldout, planned, baselines } = found;
  const rows = [["the learned policy", heldout, true], ...Object.entries(baselines).map(([label, row]) => [label, row, label === found.gain.over])];
  const range = ({ low, high }) => `${fixed(low)} to ${fixed(high)}`;
  const verdict = el("p", { class: `verdict ${found.verdict === "carries" ? "good" : ""}`, id: "learn-verdict", tabindex: -1, "data-verdict": found.verdict }, el("b", {}, found.words[0]));
  result.replaceChildren(el("section", { class: "box" }, el("h2", {}, "What it costs on cases it had not seen"), verdict, found.words.slice(1).map((text) => el("p", {}, text)),
    el("div", { class: "row wrap" }, el("button", { type: "button", class: "small strong", id: "learn-open", onclick: () => openModel(name, { tab: "Case" }) }, "Open the model"),
      el("button", { type: "button", class: "small", id: "learn-save", onclick: () => download(`${name}.yaml`, found.model) }, "Save the model"),
      el("a", { class: "small button", id: "learn-report", href: `/api/v1/learn/report/${encodeURIComponent(name)}`, target: "_blank", rel: "noopener" }, "Report")),
    el("dl", { class: "facts" }, ...[["held out", `${fixed(heldout.cost)} (95%: ${range(heldout)})`], ["planned", fixed(planned.cost)], ["tests", fixed(heldout.tests)], ["spent on tests", fixed(heldout.spend)], ["wrong", percent(heldout.errors)]]
      .map(([label, value]) => [el("dt", {}, label), el("dd", {}, value)])),
    el("div", { class: "scroll" }, el("table", {}, titled("policy", "cost", "95% interval"), el("tbody", {}, rows.map(([label, row, marked]) =>
      el("tr", { class: marked ? "chosen" : null }, el("th", { scope: "row" }, label), el("td", {}, fixed(row.cost)), el("td", {}, range(row))))))),
    el("p", { class: "quiet" }, `${found.unit} a case; ${many(found.cases, "case")}, ${many(found.splits, "split")}. Marked: the learned policy, and the best one that needs no plan.`),
    warned(found.warnings)));
  verdict.focus();
}
