"use strict";
// Walks through the plan that stands in this file. Everything it shows is looked up; it computes nothing.

const plan = JSON.parse(document.getElementById("plan").textContent);
const at = Object.fromEntries(plan.fields.map((name, i) => [name, i]));
const main = document.getElementById("main");
const said = document.getElementById("said");
const spoken = document.getElementById("spoken"); // what a screen reader says
const field = (place, name) => plan.places[place][at[name]];
const text = (place, name) => plan.strings[field(place, name)];

let steps = [];  // what was done: the place, its test, and a result's number, "d" (not known), "n" (not available), "s" (stopped)
let later = [];  // steps after one that was taken back: they come back where the plan still asks for them

function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "width") node.style.width = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// Where a choice leads: the next place, -1 where the plan does not hold it.
function target(place, choice) {
  if (choice === "s") return place;
  if (choice === "d") return field(place, "unknown");
  if (choice === "n") return field(place, "unavailable");
  return field(place, "results")[choice]?.[3] ?? -1;
}

const here = () => (steps.length ? target(steps.at(-1).place, steps.at(-1).choice) : 0);
const closed = () => steps.at(-1)?.choice === "s";

function spent() {
  return steps.reduce((sum, { place, choice }) => (sum < 0 || choice === "n" || choice === "s" ? sum : plan.sums[field(place, "price")][sum]), 0);
}

function words({ place, choice }) {
  if (choice === "s") return [el("b", {}, text(place, "commit")), " to end it"];
  const what = choice === "d" ? "result not known" : choice === "n" ? "not available" : plan.strings[field(place, "results")[choice][0]];
  return [el("b", {}, text(place, "do")), `: ${what}`];
}

// A choice at this place; later steps that were kept follow as far as the plan asks for them.
function choose(choice) {
  const place = here();
  if (target(place, choice) < 0) {
    const why = choice === "n" ? " that is not available" : choice === "d" ? " without a known result" : ": too few cases come there";
    tell(`This leaves the plan: the file does not hold what comes after ${text(place, "do")}${why}. rhoplan advise and rhoplan serve go on from there.`);
    return;
  }
  steps.push({ place, choice });
  tell(null);
  if (choice !== "s") bringBack();
  show();
}

function bringBack() {
  const kept = later;
  later = [];
  const dropped = [];
  for (const step of kept) {
    const place = here();
    const same = matching(step, place);
    if (dropped.length || same === null) dropped.push(step);
    else steps.push({ place, choice: same });
  }
  if (kept.length) tell(dropped.length ? `The plan goes another way now: taken back ${dropped.map(named).join(", ")}.` : "Later steps still hold.");
}

const named = (step) => words(step).map((part) => part.textContent ?? part).join("");

// The choice at `place` that says what `step` said, null where the plan does not ask for it there.
function matching({ place: old, choice }, place) {
  if (choice === "s") return text(old, "commit") === text(place, "commit") ? "s" : null;
  if (!field(place, "test") || field(old, "do") !== field(place, "do")) return null;
  if (choice === "d" || choice === "n") return target(place, choice) < 0 ? null : choice;
  const found = field(place, "results").findIndex((row) => row[0] === field(old, "results")[choice][0]);
  return found < 0 || target(place, found) < 0 ? null : found;
}

function undo(number) {
  if (!steps.length) return;
  const one = number ?? steps.length - 1;
  later = [...steps.slice(one + 1), ...(one === steps.length - 1 ? later : [])];
  const [gone] = steps.splice(one);
  tell(later.length ? `Taken back: ${named(gone)}. Later steps come back once it is entered again, where the plan still asks for them.` : null);
  show();
}

function startOver() {
  steps = [];
  later = [];
  tell(null);
  show();
}

function tell(message) {
  said.hidden = !message;
  said.textContent = message ?? "";
}

// The key for each result of the test at a place; empty where there is none.
const keysAt = (place) => (plan.keys[text(place, "do")] ?? []).map((name) => (name.length === 1 ? name : ""));
const key = (name) => el("kbd", {}, name);
const button = (props, ...children) => el("button", { type: "button", ...props }, ...children);

function noteOf(test) {
  const { note, link, picture } = plan.notes[test] ?? {};
  const go = (address, name) => el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, name);
  return [note ? el("p", { class: "note" }, note) : null, link ? el("p", {}, go(link, link)) : null,
    picture?.startsWith("data:") ? el("img", { src: picture, alt: `Picture of ${test}` }) : picture ? el("p", {}, go(picture, `picture: ${picture}`)) : null];
}

function nextBox(place) {
  const test = field(place, "test");
  const body = [el("h2", {}, test ? "Do next" : "Commit"),
    el("p", { class: "headline" }, el("strong", { class: "do", "data-do": text(place, "do") }, text(place, "do")), test ? el("span", { class: "cost" }, text(place, "cost")) : null),
    ...(test ? noteOf(text(place, "do")) : []),
    el("p", { class: "reason" }, `because ${text(place, "reason")}`), el("p", { class: "quiet beside" }, text(place, "beside"))];
  if (!test) body.push(el("div", { class: "results" }, button({ class: "choice strong", "data-choice": "s", onclick: () => choose("s") }, key("1"), ` Close the case with ${text(place, "commit")}`)));
  else {
    const keys = keysAt(place);
    body.push(el("p", { class: "label", id: "asked" }, "What was the result?"), el("div", { class: "results", role: "group", "aria-labelledby": "asked" },
      field(place, "results").map(([outcome, chance, then], i) => button({ class: "choice", "data-choice": i, onclick: () => choose(i) },
        el("span", {}, keys[i] ? key(keys[i]) : null, ` ${plan.strings[outcome]}`), el("small", {}, `${plan.strings[chance]}, then ${plan.strings[then]}`))),
      button({ class: "choice plain", "data-choice": "d", onclick: () => choose("d") }, el("span", {}, key("d"), " don't know"), el("small", {}, "it was run and paid for")),
      button({ class: "choice plain", "data-choice": "n", onclick: () => choose("n") }, el("span", {}, key("n"), " not available"), el("small", {}, "it cannot be run"))));
  }
  return el("section", { class: "box next", tabindex: "-1", "aria-label": "Do next" }, body);
}

function closedBox(place) {
  return el("section", { class: "box next", tabindex: "-1", "aria-label": "Case closed" }, el("h2", {}, "Case closed"),
    el("p", { class: "headline" }, el("strong", { class: "do", "data-closed": text(place, "commit") }, text(place, "commit"))),
    el("p", {}, field(place, "test") ? `The advice was ${text(place, "do")}. ` : "This was the advice. ", text(place, "closing")),
    el("div", { class: "results" }, button({ class: "choice strong", onclick: startOver }, key("r"), " New case")));
}

function show() {
  const place = here();
  const test = field(place, "test");
  const inside = main.contains(document.activeElement);
  const sum = spent();
  main.replaceChildren(closed() ? closedBox(place) : nextBox(place),
    el("section", { class: "box" }, el("h2", {}, "How sure"), el("ul", { class: "belief" }, field(place, "belief").map(([state, chance, share]) => el("li", {},
      el("span", {}, plan.strings[state]), el("span", { class: "bar" }, el("i", { width: `${share}%` })), el("span", { class: "number" }, plan.strings[chance]))))),
    closed() ? null : el("section", { class: "box" }, el("h2", {}, "If you stop now"), el("p", { class: "stop" }, text(place, "stop")),
      test ? button({ class: "small", "data-choice": "s", onclick: () => choose("s") }, key("s"), ` Stop with ${text(place, "commit")}`) : null),
    closed() ? null : el("section", { class: "box" }, el("h2", {}, "Still to come"), el("p", { class: "ahead" }, text(place, "ahead"))),
    el("section", { class: "box log" }, el("h2", {}, "So far"), steps.length ? el("ol", {}, steps.map((step, i) => el("li", {}, el("span", {}, words(step)),
      button({ class: "small", "data-undo": i, "aria-label": `Undo step ${i + 1}`, onclick: () => undo(i) }, i === steps.length - 1 ? key("u") : null, " undo")))) : el("p", { class: "quiet" }, "Nothing yet."),
      el("p", { class: "spent" }, `spent ${sum < 0 ? `more than ${plan.amounts.at(-1)}` : plan.amounts[sum]}`),
      steps.length && !closed() ? button({ class: "small", "data-over": true, onclick: startOver }, key("r"), " start over") : null));
  spoken.textContent = closed() ? `Case closed with ${text(place, "commit")}` : `${test ? "Do next" : "Commit"}: ${text(place, "do")}`;
  if (inside) main.querySelector(".next").focus({ preventScroll: true });
  if (steps.length) window.scrollTo(0, 0);
  try { history.replaceState(null, "", `#${steps.map(({ choice }) => choice).join(".")}`); } catch { /* then a reload starts over */ }
}

// The steps stand in the address, so that a telephone that closed the file finds them again.
function recall() {
  for (const part of location.hash.slice(1).split(".")) {
    const choice = /^\d+$/.test(part) ? Number(part) : part;
    const place = here();
    const known = choice === "s" || (field(place, "test") && (["d", "n"].includes(choice) || field(place, "results")[choice]));
    if (closed() || !known || target(place, choice) < 0) return;
    steps.push({ place, choice });
  }
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  const name = event.key.toLowerCase();
  const place = here();
  const test = field(place, "test") && !closed();
  if (name === "u") undo();
  else if (name === "r") startOver();
  else if (closed()) return;
  else if (name === "1" && !test) choose("s");
  else if (test && ["d", "n", "s"].includes(name)) choose(name);
  else if (test && field(place, "results")[keysAt(place).indexOf(name)]) choose(keysAt(place).indexOf(name));
});

document.getElementById("covers").textContent = plan.covers;
recall();
show();
