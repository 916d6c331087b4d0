// The gallery: what the page opens on. One's own models, the worked ones, the problems of the paper, and ways to a new one.

import { ask, counted, el, latest } from "./dom.js";
import { state } from "./state.js";
import { openHome, openModel, run } from "./app.js";
import { decline, seen, startTour } from "./tour.js";

const fetchCards = latest((signal) => ask("gallery", undefined, { signal }));

const ENDINGS = { yaml: "yaml", yml: "yaml", json: "json", toml: "toml", pomdp: "pomdp", pomdpx: "pomdpx", drn: "drn" };

export async function showGallery() {
  const found = await fetchCards();
  if (!found) return null;
  const { own, worked, paper, folder } = found;
  const content = el("div", { class: "gallery" },
    el("section", { class: "box ways" }, el("h1", {}, "What should be looked at next, and when is it enough?"),
      el("p", {}, "Choose a model, or make your own: what can be hidden, the tests with their price and quality, and what mistakes cost."),
      el("div", { class: "row wrap" },
        el("button", { type: "button", class: "small strong", id: "new-model", onclick: () => openHome("New") }, "New model"),
        el("button", { type: "button", class: "small", id: "new-table", onclick: () => openHome("Learn") }, "From a table of cases"),
        el("label", { class: "small button" }, "Open a file …", fileField())), seen() ? null : offer()),
    shelf("Your models", own, folder ? `Files of the folder ‘${folder}’; new models are saved there.` : null, "None yet. What you make here or open from a file stands in this place."),
    shelf("Worked models", worked, "Ready to be tried, and to be changed. Their numbers are illustrative."),
    shelf("Problems of the paper", paper, "For researchers: the problems that the method was measured on."));
  return { content };
}

function offer() {
  const line = el("p", { class: "offer", id: "tour-offer" }, "New here? ", el("button", { type: "button", class: "small", id: "take-tour", onclick: startTour }, "Take the tour: five steps"), " ",
    el("button", { type: "button", class: "small", onclick: () => { decline(); line.remove(); } }, "No, thanks"));
  return line;
}

function shelf(title, cards, note, empty) {
  return el("section", { class: "shelf", "aria-label": title }, el("h2", {}, title), note ? el("p", { class: "quiet" }, note) : null,
    cards.length ? el("ul", { class: "cards" }, cards.map(card)) : el("p", { class: "quiet" }, empty));
}

const sentence = (text) => (text ? `${text[0].toUpperCase()}${text.slice(1)}.` : "");

const card = ({ name, title, about, tests, file }) => el("li", {},
  el("a", { class: "card", href: `#${encodeURIComponent(name)}`, "data-card": name, onclick: (event) => {
    event.preventDefault();
    openModel(name, { tab: "Case" });
  } }, el("b", {}, title), el("span", { class: "line" }, sentence(about)),
  el("span", { class: "quiet" }, [tests === null ? "moves, or several things are hidden" : counted(tests, "test"), file].filter(Boolean).join(" · "))));

function fileField() {
  return el("input", { type: "file", id: "gallery-file", class: "unseen", accept: Object.keys(ENDINGS).map((ending) => `.${ending}`).join(), onchange: (event) => {
    const [chosen] = event.target.files;
    event.target.value = "";
    if (chosen) run(() => open(chosen), "Reading …");
  } });
}

// A file that is not sound is told with its line; a name that is taken gets a number.
async function open(chosen) {
  const [, stem, ending] = chosen.name.match(/^(.*?)(?:\.([^.]*))?$/);
  const plain = stem.replace(/[^\w .-]/g, "-").replace(/^[^\w]+/, "").slice(0, 50) || "model";
  const { models, problems, uploaded } = state.catalogue;
  const taken = [...models, ...problems, ...uploaded.filter((one) => one.opened)].map((one) => one.name);
  let name = plain;
  for (let number = 2; taken.includes(name); number += 1) name = `${plain} ${number}`;
  try {
    await ask("models", { name, text: await chosen.text(), language: ENDINGS[ending?.toLowerCase()] ?? "yaml" });
  } catch (error) {
    throw error.line ? { ...error, message: `‘${chosen.name}’, line ${error.line}: ${error.message}` } : error;
  }
  await openModel(name, { tab: "Case" });
}
