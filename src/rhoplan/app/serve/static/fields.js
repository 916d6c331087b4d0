// Fields of a form: what is typed goes into the form's record, and what the server says of a field stands beside it.

import { el } from "./dom.js";

// A place in a model file as the server writes it: points between names, points inside them with a backslash.
export const dotted = (...place) => place.map((part) => String(part).replace(/[\\.]/g, "\\$&")).join(".");

// Says where an element stands in the file. Names change while one types, so a place may be a function; `replace` asks it anew.
export function placed(node, place) {
  if (!place) return node;
  node.place = typeof place === "function" ? place : () => place;
  node.dataset.field = node.place();
  return node;
}

export function replace(root) {
  for (const one of root.querySelectorAll("[data-field]")) one.dataset.field = one.place?.() ?? one.dataset.field;
}

let count = 0;

// A labelled field. `set` takes what is typed; `slide` adds a slider for percentages; `place` is where it stands in a file.
export function field(label, value, set, { place, hint, wide, width, slide, list, short, type = "text", placeholder } = {}) {
  const id = `f${(count += 1)}`;
  const input = el("input", { type, id, value: value ?? "", autocomplete: "off", list, placeholder,
    "aria-label": short ? label : null, class: width });
  placed(input, place);
  input.addEventListener("input", () => set(input.value));
  const range = slide ? slider(label, input, set) : null;
  return el("div", { class: `fld ${wide ? "wide" : ""}` }, short ? null : el("label", { for: id }, label),
    range ? el("span", { class: "slid" }, input, range) : input, hint ? el("span", { class: "quiet hint" }, hint) : null);
}

// Moves a chance in steps of half a percent; the server says where it stands for what is typed.
function slider(label, input, set) {
  const range = el("input", { type: "range", min: 0, max: 100, step: 0.5, "aria-label": `${label}, slider` });
  range.value = parseFloat(input.value) || 50;
  range.addEventListener("input", () => {
    input.value = `${range.value}%`;
    set(input.value);
  });
  input.stand = (share) => { if (document.activeElement !== range) range.value = 100 * share; };
  return range;
}

export function choice(label, value, options, set, { place, short } = {}) {
  const id = `f${(count += 1)}`;
  const select = el("select", { id, "aria-label": short ? label : null, onchange: () => set(select.value) },
    Object.entries(options).map(([name, words]) => el("option", { value: name }, words)));
  select.value = value;
  placed(select, place);
  return el("div", { class: "fld" }, short ? null : el("label", { for: id }, label), select);
}

export function area(label, value, set, { place, rows = 3 } = {}) {
  const id = `f${(count += 1)}`;
  const box = el("textarea", { id, rows, spellcheck: "false" });
  placed(box, place);
  box.value = value ?? "";
  box.addEventListener("input", () => set(box.value));
  return el("div", { class: "fld wide" }, el("label", { for: id }, label), box);
}

// Says beside its field what is wrong, and gives the field; null where no field of the form is meant.
export function mark(root, error) {
  unmark(root);
  replace(root);
  if (!error?.field) return null;
  const all = [...root.querySelectorAll("[data-field]")];
  const of = (one) => one.dataset.field;
  const around = all.filter((one) => error.field === of(one) || error.field.startsWith(`${of(one)}.`)).sort((a, b) => of(b).length - of(a).length);
  const found = around[0] ?? all.find((one) => of(one).startsWith(`${error.field}.`));
  if (!found) return null;
  const told = el("p", { class: "fault", id: "fault" }, error.message);
  const target = found.matches("input, select, textarea") ? found : found.querySelector("input, select, textarea") ?? found;
  target.setAttribute("aria-invalid", "true");
  target.setAttribute("aria-describedby", "fault");
  (found.closest(".fld") ?? found).append(told);
  return target;
}

export function unmark(root) {
  root.querySelector("#fault")?.remove();
  for (const one of root.querySelectorAll("[aria-invalid]")) {
    one.removeAttribute("aria-invalid");
    one.removeAttribute("aria-describedby");
  }
}
