// What is a case's own: its prior, what was known at the start, any step taken back, what is said of a test.

import { ask, el, percent } from "./dom.js";
import { given, question, remember, state, unavailable } from "./state.js";
import { complain, redraw, tell } from "./app.js";
import { fromRecord, toSay } from "./journal.js";
import { numberField, valueOf } from "./typed.js";

export const UNKNOWN = "?"; // the outcome of a test that was run, but whose result nobody knows

// The fields of a request that say where the case starts.
export const startOf = () => ({ ...(state.start.prior ? { prior: state.start.prior } : {}), ...(state.start.known.length ? { known: state.start.known } : {}) });

// The fields of a request about the case as it stands.
export const caseOf = () => ({ given: given(), unavailable: unavailable(), ...startOf() });

const isOwn = () => Boolean(state.start.prior || state.start.known.length);

// The chances in the model, where it tells them by state; of subtypes it tells them one by one.
function modelPrior() {
  const { prior } = state.model.record;
  const sum = (shares) => (typeof shares === "number" ? shares : Object.values(shares).reduce((all, one) => all + one, 0));
  return state.model.states.map((name, i) => (Array.isArray(prior) ? prior[i] : sum(prior[name])));
}

// A box that says what is this case's own at the start, and where it can be set as long as nothing was done.
export function startBox() {
  const { start, model, entries } = state;
  const told = el("div", {},
    start.prior ? el("p", { class: "own-prior" }, el("b", {}, "Prior of this case, not the model's: "), Object.entries(start.prior).map(([name, share]) => `${name} ${percent(share)}`).join(", ")) : null,
    start.known.length ? el("p", { class: "own-known" }, el("b", {}, "Known at the start, not paid for: "), start.known.map((pair) => pair.join(": ")).join(", ")) : null);
  if (entries.length) return isOwn() ? el("section", { class: "box start-box" }, el("h2", {}, "This case"), told) : null;
  const own = modelPrior();
  const priors = model.states.length <= 12 ? model.states.map((name, i) => el("label", { class: "row" }, el("span", {}, name),
    el("span", {}, numberField({ "data-prior": name, value: start.prior?.[name] === undefined ? "" : Number((100 * start.prior[name]).toPrecision(12)),
      placeholder: Number((100 * own[i]).toPrecision(4)), "aria-label": `Chance of ${name} in this case, percent` }, { where: "percent", least: 0, most: 100 }), " %"))) : [];
  const known = new Map(start.known);
  const tests = Object.entries(model.record.tests ?? {}).map(([name, test]) => el("label", { class: "row" }, el("span", {}, name),
    el("select", { "data-known": name, "aria-label": `Result of ${name} that is known already` }, el("option", { value: "" }, "not known"),
      test.outcomes.map((outcome) => el("option", { value: outcome, selected: known.get(name) === outcome }, outcome)))));
  const body = el("details", { class: "start", open: isOwn() }, el("summary", {}, "Own prior, results already known"),
    priors.length ? el("h3", {}, "Chances before any test") : null, el("p", { class: "quiet" }, "Leave empty what is as in the model; states that are left empty share the rest."), priors,
    tests.length ? el("h3", {}, "Already known") : null, el("p", { class: "quiet" }, "These results are not paid for and count against no limit."), tests,
    el("div", { class: "row wrap" }, el("button", { type: "button", class: "small strong", id: "set-start", onclick: () => setStart(body) }, "Start so"),
      isOwn() ? el("button", { type: "button", class: "small", id: "clear-start", onclick: () => begin({ prior: null, known: [] }) }, "As in the model") : null));
  return el("section", { class: "box start-box noprint" }, el("h2", {}, "This case"), told, body);
}

function setStart(body) {
  const fields = [...body.querySelectorAll("[data-prior]")];
  const typed = fields.map(valueOf);
  const wrong = fields[typed.indexOf(undefined)];
  if (wrong) {
    complain({ message: `${wrong.dataset.prior}: ${wrong.validationMessage}.` });
    wrong.focus();
    return null;
  }
  const filled = fields.map((field, i) => [field.dataset.prior, typed[i]]).filter(([, share]) => share !== null);
  const prior = Object.fromEntries(filled.map(([name, share]) => [name, Number(share.toPrecision(15))]));
  const known = [...body.querySelectorAll("[data-known]")].filter((field) => field.value).map((field) => [field.dataset.known, field.value]);
  return begin({ prior: filled.length ? prior : null, known });
}

// Begin the case so; what the server refuses is taken back.
async function begin(start) {
  const before = state.start;
  state.start = start;
  state.prediction = null;
  const error = await redraw();
  if (error) {
    state.start = before;
    await redraw();
    complain(error);
  }
  remember();
}

// Take back any step: the server enters those after it again, and says so where one of them is not allowed then.
export async function undoStep(place) {
  const left = state.entries.filter((_, i) => i !== place);
  try {
    const record = await ask("journal", question({ entries: left.map(toSay), ...startOf() }));
    state.entries = fromRecord({ ...record, price: 0 }).entries;
    state.prediction = null;
    remember();
    tell(null);
    await redraw();
  } catch (error) {
    complain({ message: `Step ${place + 1} cannot be taken back while what follows it stands: ${error.message}` });
  }
}

// What the model says of a test, where it is to be done. Nothing is fetched: a path beside the model's file is text here.
export function noteBox(test) {
  const { about, note, link, picture } = state.model.record.tests?.[test]?.info ?? {};
  const go = (address) => (address.startsWith("https://") ? el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, address) : address);
  const words = [about, note].filter(Boolean).join(" ");
  if (!words && !link && !picture) return null;
  return el("div", { class: "note test-note" }, words ? el("p", {}, words) : null, link ? el("p", {}, "See ", go(link)) : null,
    picture?.startsWith("data:image/") ? el("img", { src: picture, alt: `Picture of ${test}` }) : picture ? el("p", {}, "Picture: ", go(picture)) : null);
}

// Rows of tests that wait for others.
export const waitingRows = (advice, columns) => Object.entries(advice.waiting ?? {}).filter(([name]) => !advice.unavailable.includes(name)).map(([name, others]) =>
  el("tr", { class: "waits", "data-waits": name }, el("th", { scope: "row" }, name), el("td", { colspan: columns - 1, class: "words" },
    `waits for ${others.join(", ")}${others.some((one) => advice.unavailable.includes(one)) ? ", which is not available" : ""}`)));

// Below which chance nobody tests, and above which.
export function drawThresholds(place, part) {
  const { about, fresh, stretches } = part.content;
  place.replaceChildren(el("h2", {}, `By the chance of ${about}`), el("dl", { class: "facts" }, stretches.map(({ where, do: does }) => [el("dt", {}, where), el("dd", {}, does)])),
    el("p", { class: "quiet" }, fresh ? "Before any test." : "With the tests that are left."));
  place.hidden = false;
}
