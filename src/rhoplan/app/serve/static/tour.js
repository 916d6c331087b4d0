// A tour in five steps through the views of one worked model. It is offered once, and can be started again at any time.

import { el } from "./dom.js";
import { openHome, openModel } from "./app.js";
import { keep, kept } from "./prefs.js";

const MODEL = "screening-cascade";

const STEPS = [
  { go: () => openHome("Gallery"), of: ".cards", title: "Models", text: "Every card is a model: what may be hidden, which tests there are, and what mistakes cost. Yours stand on top. Next we open a screening with two tests." },
  { go: () => openModel(MODEL, { tab: "Case" }), of: ".next", title: "What to do next", text: "For the case at hand: the next test or the decision, why, and what it costs. Press the result that came, and the advice goes on from there." },
  { go: () => openModel(MODEL, { tab: "Pathway" }), of: ".pathway, .tree", title: "The whole plan", text: "The same advice for everybody who comes, as a tree: who gets which test, who ends where, and how many of a thousand." },
  { go: () => openModel(MODEL, { tab: "What-if" }), of: ".sliders", title: "What if", text: "Move a number, such as a sensitivity or a price, and see whether the advice holds. Marks on a slider are where it flips." },
  { go: () => openModel(MODEL, { tab: "Model" }), of: ".model-form, .editor", title: "Make it yours", text: "Every number is in this form, with its source. Change it and get the advice, or begin with New model on the first page." },
];

let box = null;

export const seen = () => kept("tour") === "seen";
export const decline = () => keep("tour", "seen");

export function startTour() {
  keep("tour", "seen");
  end();
  box = el("section", { class: "tour", role: "dialog", "aria-labelledby": "tour-title", "aria-describedby": "tour-text", tabindex: -1, id: "tour",
    onkeydown: (event) => {
      event.stopPropagation(); // digits and letters are keys of the view below
      if (event.key === "Escape") end();
    } });
  document.body.append(box);
  show(0);
}

async function show(place) {
  const { go, of, title, text } = STEPS[place];
  const mine = box;
  await go();
  if (mine !== box || !mine) return;
  unmark();
  const target = document.querySelector(of);
  target?.classList.add("toured");
  target?.scrollIntoView({ block: target.clientHeight > innerHeight / 2 ? "start" : "nearest" });
  const button = (name, work, strong) => el("button", { type: "button", class: `small ${strong ? "strong" : ""}`, id: `tour-${name.toLowerCase()}`, onclick: work }, name);
  const last = place === STEPS.length - 1;
  box.replaceChildren(el("h2", { id: "tour-title" }, `${place + 1} of ${STEPS.length}: ${title}`), el("p", { id: "tour-text" }, text),
    el("div", { class: "row wrap" }, place ? button("Back", () => show(place - 1)) : null,
      last ? button("Done", end, true) : button("Next", () => show(place + 1), true), last ? null : button("End", end)));
  box.querySelector(".strong").focus();
}

function unmark() {
  for (const one of document.querySelectorAll(".toured")) one.classList.remove("toured");
}

function end() {
  unmark();
  box?.remove();
  box = null;
}
