// What this browser remembers of the person: colours, whether nats are shown, the words of the field, whether the tour was seen.

import { state, weight } from "./state.js";

const at = (id) => document.getElementById(id);
const root = document.documentElement;

export function kept(name) {
  try { return localStorage.getItem(`rhoplan ${name}`); } catch { return null; }
}

export function keep(name, value) {
  try { localStorage.setItem(`rhoplan ${name}`, value); } catch { /* a browser without storage forgets */ }
}

// The word of the person's field for one of ours: `word("test")`, `word("tests")`. The person's choice, then the model's.
export function word(ours, field = state.model?.field) {
  const { words } = state.catalogue;
  return (words[kept("words") || field] ?? words.general)[ours];
}

export const titled = (ours, field) => word(ours, field).replace(/^./, (first) => first.toUpperCase());

// Nats are shown to who asks for them, to who puts a price on information, and with the paper's problems, whose unit they are.
export function showNats() {
  const paper = state.model && state.catalogue.problems.some(({ name }) => name === state.model.problem.split(":")[0]);
  root.toggleAttribute("data-nats", kept("nats") === "1" || Boolean(state.model && (weight() > 0 || paper)));
}

export function listenPrefs({ redraw, tour }) {
  const menu = at("menu");
  at("dark").checked = root.dataset.theme === "dark";
  at("dark").addEventListener("change", ({ target }) => {
    keep("theme", target.checked ? "dark" : "light");
    root.dataset.theme = kept("theme") ?? (target.checked ? "dark" : "light");
  });
  at("nats").checked = kept("nats") === "1";
  at("nats").addEventListener("change", ({ target }) => {
    keep("nats", target.checked ? "1" : "0");
    showNats();
  });
  at("words").value = kept("words") ?? "";
  at("words").addEventListener("change", ({ target }) => {
    keep("words", target.value);
    redraw();
  });
  at("start-tour").addEventListener("click", () => {
    menu.open = false;
    tour();
  });
  const close = (event) => { if (menu.open && !menu.contains(event.target)) menu.open = false; };
  document.addEventListener("click", close);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
}
