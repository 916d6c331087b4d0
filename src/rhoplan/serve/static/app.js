// The page: chooses the model and the view, and holds what all views share.

import { ask, el, later, number, working } from "./dom.js";
import { freshCase, isCase, state, weightLimit } from "./state.js";
import { showCase } from "./case.js";
import { showEpisode } from "./episode.js";
import { showPathway } from "./pathway.js";
import { showWhatIf } from "./whatif.js";
import { showCompare } from "./compare.js";
import { showModel } from "./model.js";
import { showReport } from "./report.js";

const VIEWS = { Case: null, Pathway: showPathway, "What-if": showWhatIf, Compare: showCompare, Model: showModel, Report: showReport };
const at = (id) => document.getElementById(id);

export function complain(error) {
  const box = at("problem");
  box.hidden = !error;
  box.textContent = error ? error.message : "";
}

export async function redraw() {
  const place = at("main");
  const view = state.tab === "Case" ? (isCase() ? showCase : showEpisode) : VIEWS[state.tab];
  state.keys = {};
  at("settings").hidden = !["Case", "Pathway"].includes(state.tab);
  at("teach").closest("label").hidden = state.tab !== "Case";
  const mine = `${state.model.problem} ${state.tab}`;
  if (place.dataset.view !== mine) {
    place.replaceChildren(working());
    place.dataset.view = mine;
  }
  try {
    await view(place, redraw);
    complain(null);
  } catch (error) {
    if (place.querySelector(".working")) place.replaceChildren();
    complain(error);
  }
}

const redrawSoon = later(40, redraw);

export async function openModel(name, { tab } = {}) {
  try {
    state.model = await ask(`models/${encodeURIComponent(name)}`);
  } catch (error) {
    complain(error);
    return;
  }
  freshCase();
  state.weight = 1;
  state.horizon = null;
  if (tab) state.tab = tab;
  if (!state.model.flat && !["Case", "Model"].includes(state.tab)) state.tab = "Case";
  document.title = `${state.model.title} – rhoplan`;
  at("unit").textContent = `unit: ${state.model.reward_unit}`;
  const info = state.model.info ?? {};
  at("about").hidden = !(info.about || info.note);
  at("about").textContent = [info.about, info.illustrative ? "Numbers are illustrative." : null, info.source ? `Source: ${info.source}` : null]
    .filter(Boolean).join(" · ");
  history.replaceState(null, "", `#${encodeURIComponent(state.model.problem)}`);
  drawTabs();
  drawSettings();
  await fillPicker();
  await redraw();
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
}

function drawTabs() {
  const names = Object.keys(VIEWS).filter((name) => state.model.flat || ["Case", "Model"].includes(name));
  at("tabs").replaceChildren(...names.map((name) =>
    el("button", { role: "tab", type: "button", "aria-selected": String(name === state.tab), "data-tab": name,
      onclick: () => { state.tab = name; drawTabs(); redraw(); } }, name === "Case" && !isCase() ? "Episode" : name)));
}

function drawSettings() {
  const top = weightLimit();
  const { reward_unit: unit } = state.model;
  // Small weights matter most, so the slider's steps grow with the square.
  at("weight").value = Math.round(1000 * Math.sqrt(Math.min(state.weight / top, 1)));
  at("weight-number").value = Number(state.weight.toPrecision(4));
  at("weight-unit").textContent = `${unit} per nat (0 to ${number(top)})`;
  at("weight").setAttribute("aria-valuetext", `${number(state.weight)} ${unit} per nat`);
  at("horizon").value = state.horizon ?? state.model.horizon;
}

function setWeight(value) {
  if (!Number.isFinite(value) || value < 0) return;
  state.weight = value;
  drawSettings();
  redrawSoon();
}

function listen() {
  at("model").addEventListener("change", (event) => openModel(event.target.value));
  at("teach").addEventListener("change", (event) => {
    state.teach = event.target.checked;
    state.prediction = null;
    redraw();
  });
  at("weight").addEventListener("input", (event) =>
    setWeight(Number((weightLimit() * (event.target.value / 1000) ** 2).toPrecision(3))));
  at("weight-number").addEventListener("change", (event) => setWeight(Number(event.target.value)));
  at("horizon").addEventListener("change", (event) => {
    const value = Math.round(Number(event.target.value));
    state.horizon = value >= 1 ? value : null;
    drawSettings();
    redraw();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=checkbox]):not([type=range]), textarea, select")) return;
    const act = state.keys[event.key.toLowerCase()];
    if (act) {
      event.preventDefault();
      act();
    }
  });
  at("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...at("tabs").children];
    tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length].focus();
  });
}

async function start() {
  listen();
  try {
    await fillPicker();
  } catch (error) {
    complain(error);
    return;
  }
  const asked = decodeURIComponent(location.hash.slice(1));
  await openModel(asked || state.catalogue.first || "chest-pain");
  if (!state.model && asked) await openModel(state.catalogue.first || "chest-pain");
}

start();
