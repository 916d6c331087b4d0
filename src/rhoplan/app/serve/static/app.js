// The page: chooses the model and the view, draws it, and holds what all views share.

import { ask, el, later, latest, number, stopAll, stopped, working } from "./dom.js";
import { freshCase, isCase, recall, remember, state, weight, weightLimit } from "./state.js";
import { showCase } from "./case.js";
import { showEpisode } from "./episode.js";
import { fromRecord, toReason } from "./journal.js";
import { openForPrint, showPathway } from "./pathway.js";
import { changedNumbers, showWhatIf } from "./whatif.js";
import { showCompare } from "./compare.js";
import { showTarget } from "./target.js";
import { showUncertain } from "./uncertain.js";
import { showModel } from "./model.js";
import { showReport } from "./report.js";
import { showLearn } from "./learn.js";
import { showGallery } from "./gallery.js";
import { showNew } from "./form.js";
import { listenPrefs, showNats } from "./prefs.js";
import { startTour } from "./tour.js";
import { numeric, valueOf } from "./typed.js";

const VIEWS = { Case: null, Pathway: showPathway, "What-if": showWhatIf, Uncertainty: showUncertain, Compare: showCompare, Targets: showTarget, Model: showModel, Report: showReport, Learn: showLearn };
const ANY = ["Case", "Model", "Learn"]; // views that do not need a model that is a list of tests
const HOME = { Gallery: showGallery, Learn: showLearn, New: showNew }; // views that need no model
const at = (id) => document.getElementById(id);

export function complain(error) {
  at("problem").hidden = !error;
  at("problem").textContent = error ? error.message : "";
}

export function tell(text) {
  at("notice").hidden = !text;
  at("notice").firstElementChild.textContent = text ?? "";
}

// Do something that may be refused, and say so; `text` is shown while it takes long.
export async function run(work, text) {
  const slow = setTimeout(() => tell(text), 400);
  try {
    await work();
    complain(null);
  } catch (error) {
    complain(error);
  }
  clearTimeout(slow);
  if (at("notice").firstElementChild.textContent === text) tell(null);
}

let drawn = 0;      // counts redraws: only the last one may touch the page
let shown = null;   // the case that the screen is about

// Draws the view. A view gives the content, what keys do on it, what a screen reader says, and what starts when it is
// there. Returns the error, if any.
export async function redraw() {
  const mine = ++drawn;
  const place = at("main");
  const view = !state.model ? HOME[state.tab] : state.tab === "Case" ? (isCase() ? showCase : showEpisode) : VIEWS[state.tab];
  state.keys = { u: undo };
  frame();
  const name = `${state.model?.problem ?? ""} ${state.tab}`;
  if (place.dataset.view !== name) {
    place.replaceChildren(skeleton());
    place.dataset.view = name;
  }
  try {
    const found = await view();
    if (mine !== drawn || !found) return null;
    replace(place, found.content);
    state.keys = found.keys ?? {};
    shown = { model: state.model, count: state.entries.length };
    at("spoken").textContent = found.spoken ?? "";
    complain(null);
    found.start?.();
    return null;
  } catch (error) {
    if (mine !== drawn) return null;
    if (place.querySelector(":scope > .waiting")) place.replaceChildren(notDone());
    complain(error);
    return error;
  }
}

// What stands where a view is still to come: its shape, and a way to stop.
const skeleton = () => el("section", { class: "box waiting" }, el("div", { class: "skeleton", "aria-hidden": "true" }, [1, 2, 3, 4].map(() => el("i"))), working(cancel));

// Stop what the view waits for; what is there stays.
function cancel() {
  drawn += 1;
  stopAll();
  at("main").replaceChildren(notDone());
}

// What stands in place of a view that could not be drawn, or was not waited for.
const notDone = () => el("section", { class: "box" }, stopped(() => {
  at("main").dataset.view = "";
  redraw();
}));

// New content; who had the focus in the old one keeps it, or is at the advice.
function replace(place, content) {
  const held = document.activeElement;
  const inside = held !== place && place.contains(held);
  place.replaceChildren(...[content].flat());
  if (!inside) return;
  const same = held.id && at(held.id);
  (same && !same.disabled ? same : place.querySelector(".next") ?? place).focus({ preventScroll: true });
}

const redrawSoon = later(40, redraw);

// Add an entry to the case that is on the screen; one that the server refuses is taken back.
export async function enter(entry) {
  if (shown?.model !== state.model || shown.count !== state.entries.length) return;
  state.entries.push(entry);
  state.prediction = null;
  remember();
  tell(null);
  const error = await redraw();
  if (error && state.entries.at(-1) === entry) {
    state.entries.pop();
    await redraw();
    complain(error);
  }
  remember(); // with the belief that the entry led to
}

export function undo() {
  if (state.tab !== "Case" || !state.entries.length) return;
  state.entries.pop();
  state.prediction = null;
  remember();
  redraw();
}

export function reset() {
  freshCase();
  tell(null);
  redraw();
}

export function predict(name) {
  state.prediction = name;
  redraw();
}

const fetchModel = latest((signal, name) => ask(`models/${encodeURIComponent(name)}`, undefined, { signal }));

// Opens a model with the case this tab had of it, or with the case of a record; `quiet` leaves the browser's history alone.
export async function openModel(name, { tab, record, quiet } = {}) {
  let model;
  try {
    model = await fetchModel(name);
  } catch (error) {
    await fillPicker().catch(() => null);
    if (state.model) go(true);
    else if (!drawn) await openHome("Gallery", { quiet: true });
    complain(error.status === 404 ? { message: `There is no model ‘${name}’.` } : error);
    return;
  }
  if (!model) return;
  state.model = model;
  recall();
  if (record) {
    Object.assign(state, fromRecord(record));
    remember();
  }
  if (tab) state.tab = tab;
  if (!model.flat && !ANY.includes(state.tab)) state.tab = "Case";
  tell(null);
  document.title = `${model.title} – rhoplan`;
  at("unit").textContent = `unit: ${model.reward_unit}`;
  await fillPicker();
  drawSettings();
  go(quiet);
  const error = await redraw();
  if (error && record) { // a case that cannot be gone on with must not stand in the way
    freshCase();
    await redraw();
    throw error;
  }
}

// Leaves the model for a view that needs none: the gallery, a table of cases, a new model.
export async function openHome(tab, { quiet } = {}) {
  Object.assign(state, { model: null, tab });
  tell(null);
  document.title = "rhoplan";
  go(quiet);
  await fillPicker();
  await redraw();
}

// The address names model and view, so that a reload and the back button find them again.
function go(quiet) {
  const { model, tab } = state;
  const hash = !model ? (tab === "Gallery" ? "#" : `#/${tab}`) : `#${encodeURIComponent(model.problem)}${tab === "Case" ? "" : `/${tab}`}`;
  if (quiet || hash === (location.hash || "#")) history.replaceState(null, "", hash);
  else history.pushState(null, "", hash);
  drawTabs();
}

function asked() {
  const [name, tab] = location.hash.slice(1).split("/");
  let decoded = "";
  try { decoded = decodeURIComponent(name); } catch { /* no name that anybody wrote */ }
  const [views, usual] = decoded ? [VIEWS, "Case"] : [HOME, "Gallery"];
  return { name: decoded, tab: tab in views ? tab : usual };
}

function drawAbout() {
  const { info } = state.model;
  const problem = state.catalogue.problems.find(({ name }) => name === state.model.problem.split(":")[0]);
  const about = info?.about ?? info?.note ?? problem?.about ?? "";
  const parts = [about && about[0].toUpperCase() + about.slice(1).replace(/\.$/, ""), info?.illustrative ? "Numbers are illustrative" : null,
    info?.source ? `Source: ${info.source}` : null].filter(Boolean);
  at("about").hidden = !parts.length;
  at("about").textContent = `${parts.join(". ")}.`;
  at("doubts").hidden = !state.model.cautions.length;
  at("doubts").replaceChildren(...state.model.cautions.map(({ text }) => el("div", {}, `Caution: ${text}`)));
}

async function fillPicker() {
  state.catalogue = await ask("models");
  const { models, problems, uploaded } = state.catalogue;
  const group = (label, rows) => rows.length && el("optgroup", { label }, rows.map(({ name }) => el("option", { value: name }, name)));
  const picker = at("model");
  const known = [...models, ...problems, ...uploaded].map(({ name }) => name);
  const here = state.model?.problem;
  picker.replaceChildren(
    ...[group("Your models", here && !known.includes(here) ? [{ name: here }, ...uploaded] : uploaded),
      group("Worked models", models), group("Problems of the paper", problems)].filter(Boolean));
  if (here) picker.value = here;
  else picker.prepend(el("option", { value: "", selected: true, disabled: true }, "Choose a model"));
}

// The tabs stay the same elements, so that the focus stays on them.
function drawTabs() {
  const place = at("tabs");
  const names = Object.keys(VIEWS).filter((name) => state.model && name !== "Learn" && (state.model.flat || ANY.includes(name)));
  if ([...place.children].map((one) => one.dataset.tab).join() !== names.join()) {
    place.replaceChildren(...names.map((name) => el("button", { type: "button", "data-tab": name, onclick: () => show(name) }, name)));
  }
  for (const one of place.children) {
    if (one.dataset.tab === state.tab) {
      one.setAttribute("aria-current", "page");
      const [mine, row] = [one.getBoundingClientRect(), place.getBoundingClientRect()];
      place.scrollLeft += Math.max(0, mine.right - row.right) + Math.min(0, mine.left - row.left); // where tabs do not fit
    } else one.removeAttribute("aria-current");
    if (one.dataset.tab === "Case") one.textContent = isCase() ? "Case" : "Episode";
  }
  if (state.tab === "Learn") at("from-table").setAttribute("aria-current", "page");
  else at("from-table").removeAttribute("aria-current");
}

function show(tab) {
  if (tab === state.tab) return;
  state.tab = tab;
  go();
  redraw();
}

// What stands around the view.
function frame() {
  const changed = state.model ? changedNumbers() : 0;
  at("differs").hidden = !changed || state.tab === "What-if";
  at("differs").textContent = `What-if has ${changed === 1 ? "a number that is" : `${changed} numbers that are`} not the model's; this view shows the model's own.`;
  showNats();
  at("settings").hidden = !["Case", "Pathway"].includes(state.tab);
  const without = !state.model || state.tab === "Learn"; // unit and note are about the model, and such a view is not
  at("unit").hidden = without;
  if (without) at("about").hidden = at("doubts").hidden = true;
  else drawAbout();
  at("teach").closest("label").hidden = state.tab !== "Case";
}

function drawSettings() {
  const top = weightLimit();
  const { reward_unit: unit } = state.model;
  // Small weights matter most, so the slider's steps grow with the square.
  at("weight").value = Math.round(1000 * Math.sqrt(Math.min(weight() / top, 1)));
  at("weight-number").value = Number(weight().toPrecision(4));
  at("weight-limit").textContent = number(top);
  at("weight-unit").textContent = `${unit} per nat`;
  at("weight").setAttribute("aria-valuetext", `${number(weight())} ${unit} per nat`);
  at("horizon").value = state.agent.horizon ?? state.model.horizon;
  const share = state.agent.near ?? state.catalogue.settings.find(({ name }) => name === "near").default;
  at("near").value = Number((100 * share).toPrecision(4));
}

function setAgent(change) {
  state.agent = { ...state.agent, ...change };
  showNats();
  remember();
  drawSettings();
  redrawSoon();
}

// What is typed into a field of the settings; `take` is given the number, null where the field is empty.
function whenTyped(id, rule, take) {
  numeric(at(id), rule).addEventListener("change", ({ target }) => {
    const value = valueOf(target);
    if (value !== undefined) take(value);
  });
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const digit = /^[1-9]$/.test(event.key);
  if (event.target.closest("input:not([type=checkbox]):not([type=range]), textarea") || (event.target.closest("select") && !digit)) return;
  const act = state.keys[event.key.toLowerCase()] ?? (event.key === "w" && state.tab === "Case" ? toReason : null);
  if (act) {
    event.preventDefault();
    act();
  }
}

function listen() {
  at("model").addEventListener("change", (event) => openModel(event.target.value, !state.model || state.tab === "Learn" ? { tab: "Case" } : {}));
  at("home").addEventListener("click", (event) => { event.preventDefault(); openHome("Gallery"); });
  at("from-table").addEventListener("click", () => (state.model ? show("Learn") : openHome("Learn")));
  at("teach").addEventListener("change", (event) => {
    state.teach = event.target.checked;
    state.prediction = null;
    redraw();
  });
  at("weight").addEventListener("input", (event) =>
    setAgent({ weight: Number((weightLimit() * (event.target.value / 1000) ** 2).toPrecision(3)) }));
  whenTyped("weight-number", { least: 0 }, (value) => (value === null ? drawSettings() : setAgent({ weight: value })));
  whenTyped("horizon", { whole: true, least: 1 }, (value) => setAgent({ horizon: value ?? undefined }));
  whenTyped("near", { where: "percent", least: 0, most: 100 }, (share) => setAgent({ near: share ?? undefined }));
  at("notice").lastElementChild.addEventListener("click", () => tell(null));
  document.addEventListener("keydown", press);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    (document.querySelector(".next") ?? at("main")).focus();
  });
  // The second click of a double one would land on what the first one brought.
  at("main").addEventListener("click", (event) => {
    if (event.detail > 1 && event.target.closest(".choice")) event.stopPropagation();
  }, true);
  window.addEventListener("popstate", () => {
    const { name, tab } = asked();
    if (!name) openHome(tab, { quiet: true });
    else if (name !== state.model?.problem) openModel(name, { tab, quiet: true });
    else if (tab !== state.tab) {
      state.tab = tab;
      drawTabs();
      redraw();
    }
  });
  window.addEventListener("beforeprint", () => {
    at("paper").textContent = state.tab === "Report" || !state.model ? "" : `${state.model.title}, ${new Date().toLocaleString()}`;
    openForPrint();
  });
}

async function start() {
  listen();
  listenPrefs({ redraw, tour: startTour });
  at("main").replaceChildren(skeleton());
  try {
    await fillPicker();
  } catch (error) {
    complain(error);
    return;
  }
  const { first } = state.catalogue; // the one model that the server was started with
  const { name, tab } = asked();
  if (name || (first && tab === "Gallery")) await openModel(name || first, { tab: name ? tab : "Case", quiet: true });
  else await openHome(tab, { quiet: true });
}

start();
