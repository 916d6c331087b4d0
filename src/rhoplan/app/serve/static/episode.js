// An episode of a problem of the paper, step by step: where one is, what is believed, what every action is worth.

import { ask, beliefBars, beside, decimals, el, fixed, latest, number, percent, percents, plus, signed, svg } from "./dom.js";
import { ending, entryOf, given, question, state } from "./state.js";
import { enter, predict, reset, undo } from "./app.js";
import { logBox } from "./journal.js";
import { isKey, shortcuts } from "./shortcuts.js";

const look = latest(async (signal) => {
  const here = await ask("situation", { problem: state.model.problem, given: given() }, { signal });
  return [here, here.ended ? null : await ask("decide", question({ given: given() }), { signal })];
});

export async function showEpisode() {
  const found = await look();
  if (!found) return null;
  const [here, decision] = found;
  const last = state.entries.at(-1);
  if (last?.before && !last.after && last.outcome !== undefined) [last.after] = Object.values(here.beliefs);
  const over = ending() || here.ended || !decision;
  const hidden = state.teach && !state.prediction && !over;
  const act = actions(here, decision);
  const log = logBox({ title: "Steps", empty: "Nothing done yet.", total: `so far ${signed(here.paid)} ${state.model.reward_unit}` });
  const content = el("div", { class: "case" },
    el("div", { class: "column now" },
      over ? endBox(here) : hidden ? predictBox(here) : nextBox(here, decision, act),
      over || hidden ? null : valuesBox(here, decision, act)),
    el("div", { class: "column belief-column" }, mapBox(here), beliefBox(here)),
    el("div", { class: "column log-column" }, log));
  const spoken = over ? "The episode has ended" : hidden ? "What would you do next?" : `Do next: ${decision.choice}`;
  return { content, spoken, keys: keys(here, decision, act, hidden, over) };
}

function actions(here, decision) {
  const act = {
    take(name, outcome) {
      const { kind, cost, in_all } = here.actions.find((row) => row.name === name);
      const said = kind === "commit" ? { commit: name } : { test: name, outcome };
      const [before] = Object.values(here.beliefs);
      const more = kind === "commit" ? { in_all } : state.model.flat ? { cost, before } : {};
      enter(entryOf(said, decision, { advised: decision.choice, ...more }));
    },
    draw(name) {
      const action = here.actions.find((row) => row.name === name);
      let chance = Math.random();
      const drawn = action.outcomes.find((row) => (chance -= row.probability) < 0) ?? action.outcomes.at(-1);
      act.take(name, drawn?.outcome);
    },
  };
  return act;
}

function keys(here, decision, act, hidden, over) {
  const found = { u: undo };
  const bind = (rows, work) => rows.slice(0, 9).forEach((row, i) => { found[String(i + 1)] = () => work(row); });
  if (over) return found;
  if (hidden) {
    bind(here.actions, (row) => predict(row.name));
    return found;
  }
  const chosen = here.actions.find((row) => row.name === decision.choice);
  const rows = inOrder(chosen);
  resultKeys(rows, here).forEach((name, i) => { if (isKey(name)) found[name] = () => act.take(chosen.name, rows[i].outcome); });
  found.d = () => act.draw(chosen.name);
  return found;
}

function predictBox(here) {
  return el("section", { class: "box next", tabindex: -1 }, el("h2", {}, "What would you do next?"),
    el("div", { class: "results" }, here.actions.slice(0, 60).map((row, i) =>
      el("button", { type: "button", class: row.kind === "commit" ? "choice plain" : "choice", onclick: () => predict(row.name) },
        i < 9 ? el("kbd", {}, String(i + 1)) : null, el("span", {}, row.name), el("small", {}, row.kind)))));
}

function nextBox(here, decision, act) {
  const unit = state.model.reward_unit;
  const value = decision.actions.find((row) => row.name === decision.choice);
  const chosen = here.actions.find((row) => row.name === decision.choice);
  const what = { commit: "ends the episode", move: "moves on" }[value.kind] ?? "tells what comes of it";
  return el("section", { class: "box next", "aria-label": "Do next", tabindex: -1 }, el("h2", {}, "Do next"),
    state.prediction ? el("p", { class: state.prediction === decision.choice ? "verdict good" : "verdict" }, verdict(decision)) : null,
    el("div", { class: "headline" }, el("strong", { class: "do", "data-do": decision.choice }, decision.choice),
      el("span", { class: "cost" }, `${signed(value.reward)} ${unit} now`)),
    el("p", { class: "reason" }, value.information > 1e-12 ? `It tells ${number(value.information, 3)} nats` : `It ${what}`,
      ` and is worth ${signed(value.value)} ${unit} in all.`), beside(decision),
    outcomeButtons(chosen, act, resultKeys(inOrder(chosen), here)));
}

function verdict({ choice, actions: rows }) {
  if (state.prediction === choice) return `✓ You chose ${choice}, as advised.`;
  const mine = rows.find((row) => row.name === state.prediction);
  return `You chose ${state.prediction}${mine ? `: by this count worth ${number(mine.behind)} ${state.model.reward_unit} less` : ""}.`;
}

// Many results are shown the likeliest first, and the others folded.
const MOST_RESULTS = 12;
const inOrder = ({ outcomes }) =>
  (outcomes.length > MOST_RESULTS ? [...outcomes].sort((a, b) => b.probability - a.probability) : outcomes);

// A commit and a move have one outcome without a name.
const resultKeys = (rows, here) => shortcuts(rows.map((row) => row.outcome ?? ""), here.actions.filter((row) => row.kind === "commit").map((row) => row.name));

function outcomeButtons(action, act, names) {
  const sure = action.outcomes.length === 1;
  const label = (row) => (action.kind === "commit" ? `Do it: ${action.name}` : sure ? "Do it" : row.outcome);
  const button = (row, i) =>
    el("button", { type: "button", class: "choice", "data-outcome": row.outcome, onclick: () => act.take(action.name, row.outcome) },
      isKey(names?.[i] ?? "") ? el("kbd", {}, names[i]) : null, el("span", {}, label(row)), sure ? null : el("small", {}, chances.get(row.outcome)));
  const rows = inOrder(action);
  const told = percents(rows.map((row) => row.probability));
  const chances = new Map(rows.map((row, i) => [row.outcome, told[i]]));
  const rest = rows.slice(MOST_RESULTS);
  const share = rest.reduce((sum, row) => sum + row.probability, 0);
  return el("div", { class: "results" }, rows.slice(0, MOST_RESULTS).map(button),
  rest.length ? el("details", { class: "enter", "data-folded": rest.length }, el("summary", {}, `${rest.length} more results, ${percent(share)} in all`),
    el("div", { class: "results" }, rest.map((row) => button(row, rows.length)))) : null,
  sure ? null : el("button", { type: "button", class: "choice plain", onclick: () => act.draw(action.name) },
    names ? el("kbd", {}, "d") : null, el("span", {}, "draw a result"), el("small", {}, "by these chances")));
}

function valuesBox(here, decision, act) {
  const ranked = [...decision.actions].sort((a, b) => (b.name === decision.choice) - (a.name === decision.choice) || b.value - a.value);
  const ends = ranked.filter((row) => row.kind === "commit").slice(0, 4);
  const kept = ranked.filter((row) => row.kind !== "commit" || ends.includes(row) || row.name === decision.choice).slice(0, 16);
  const cents = decimals(kept.flatMap(({ reward, continuation, value }) => [reward, continuation, value]));
  const nats = decimals(kept.map((row) => row.information), 3);
  const rows = kept.map((row) => {
    const action = here.actions.find((other) => other.name === row.name);
    return el("tr", { class: row.name === decision.choice ? "chosen" : null },
      el("th", { scope: "row" }, row.name === decision.choice ? `→ ${row.name}`
        : el("details", { class: "enter" }, el("summary", { "aria-label": `${row.name}: do this instead` }, row.name), outcomeButtons(action, act, null))),
      el("td", { "data-label": "reward" }, plus(row.reward, cents)), el("td", { "data-label": "informs" }, fixed(row.information, nats)),
      el("td", { "data-label": "× weight" }, plus(row.weighted_information, cents)), el("td", { "data-label": "later" }, plus(row.continuation, cents)),
      el("td", { "data-label": "value" }, plus(row.value, cents)));
  });
  return el("section", { class: "box options-box" }, el("h2", {}, "Actions now"),
    el("div", { class: "scroll" }, el("table", { class: "stack" }, el("thead", {}, el("tr", {},
      ["action", "reward", "informs", "× weight", "later", "value"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows))),
    el("p", { class: "quiet" }, `value = reward + × weight + later, in ${state.model.reward_unit}. Informs: expected information in nats. Later: what the plan earns after it.`,
      el("span", { class: "noprint" }, " Open an action to do it instead."),
      ranked.length > kept.length ? ` ${ranked.length - kept.length} actions of lower value are left out.` : ""));
}

function endBox(here) {
  const end = ending();
  return el("section", { class: "box next", "aria-label": "The end", tabindex: -1 }, el("h2", {}, "The episode has ended"),
    el("div", { class: "headline" }, el("strong", { class: "do", "data-closed": end?.commit ?? "" }, end?.commit ?? "Finished"),
      el("span", { class: "cost" }, `${signed(end?.in_all ?? here.paid)} ${state.model.reward_unit} ${end ? "expected " : ""}in all`)),
    el("div", { class: "results" }, el("button", { type: "button", class: "choice strong", onclick: reset }, "New episode"),
      el("button", { type: "button", class: "choice plain", onclick: undo }, el("kbd", {}, "u"), el("span", {}, "Undo"))));
}

function beliefBox(here) {
  const factors = Object.entries(here.beliefs);
  if (factors.length === 1) {
    return state.model.grid ? null : el("section", { class: "box belief-box" }, el("h2", {}, "Belief"), beliefBars(factors[0][1]));
  }
  const names = Object.keys(factors[0][1]).filter((name) => factors.some(([, belief]) => belief[name] > 0));
  return el("section", { class: "box belief-box" }, el("h2", {}, "Belief"), el("div", { class: "scroll" }, el("table", { class: "factors" },
    el("thead", {}, el("tr", {}, ["", ...names].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, factors.map(([name, belief]) => el("tr", {}, el("th", { scope: "row" }, name),
      names.map((one) => el("td", {}, belief[one] ? percent(belief[one]) : "–"))))))));
}

// The grid: shading is probability, a ring is where one stands, numbered squares are rocks or components.
function mapBox(here) {
  const size = state.model.grid;
  if (!size) return null;
  const cell = 40;
  const factors = Object.entries(here.beliefs);
  const places = state.model.places;
  const board = svg("svg", { viewBox: `0 0 ${size * cell} ${size * cell}`, class: "map", role: "img", "aria-label": "Map" });
  const belief = places ? null : factors[0][1];
  const top = belief ? Math.max(3 / Object.keys(belief).length, ...Object.values(belief)) : 1;
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const share = belief?.[`r${row}c${column}`] ?? 0;
      const label = belief ? `row ${row}, column ${column}: ${percent(share)}` : `row ${row}, column ${column}`;
      board.append(svg("rect", { x: column * cell, y: row * cell, width: cell, height: cell, class: "cell",
        style: { fill: belief ? shade(share / top) : "#fff" } }, svg("title", {}, label)));
      if (belief && size <= 8) board.append(text(column, row, cell, brief(share), isDark(share / top) ? "light" : ""));
    }
  }
  (places ?? []).forEach(([row, column], i) => {
    const [name, shares] = factors[i] ?? ["", {}];
    const [first] = Object.keys(shares);
    const good = shares.good ?? shares[first] ?? 0;
    const done = (shares.spent ?? 0) + (shares.declared ?? 0) > 0.999;
    board.append(svg("rect", { x: column * cell + 4, y: row * cell + 4, width: cell - 8, height: cell - 8, rx: 5,
      class: "place", style: { fill: done ? "#ddd" : shade(good) } },
    svg("title", {}, `${name}: ${Object.entries(shares).map(([state_, share]) => `${state_} ${percent(share)}`).join(", ")}`)));
    const tone = !done && isDark(good) ? "light" : "";
    board.append(text(column, row - 0.13, cell, `#${i}`, tone), text(column, row + 0.15, cell, done ? "done" : brief(good), tone));
  });
  const visible = Array.isArray(here.visible) && Number.isInteger(here.visible[0]) && here.visible.length >= 2 ? here.visible : null;
  if (visible) {
    board.append(svg("circle", { cx: (visible[1] + 0.5) * cell, cy: (visible[0] + 0.5) * cell, r: cell * 0.44, class: "here" },
      svg("title", {}, "you are here")));
  }
  const what = places ? `${Object.keys(factors[0][1]).includes("good") ? "good" : Object.keys(factors[0][1])[0]}: darker is more likely` : "darker is more likely";
  return el("section", { class: "box map-box" }, el("h2", {}, places || visible ? "Map" : "Belief"), board,
    el("p", { class: "quiet" }, what, visible ? "; the ring is where you are" : "", "."));
}

function text(column, row, cell, content, name) {
  return svg("text", { x: (column + 0.5) * cell, y: (row + 0.5) * cell + 3.5, class: `mark ${name}` }, content);
}

// A percentage that fits in a square.
const brief = (share) => (share > 0 && share < 0.001 ? "<0.1%" : share < 1 && share > 0.999 ? ">99.9%" : percent(share));

// One hue from white to dark blue: lightness alone carries the value.
const lightness = (share) => 97 - 67 * Math.sqrt(Math.max(0, Math.min(1, share)));
const shade = (share) => `hsl(203 80% ${lightness(share)}%)`;
// Below this lightness white reads better than black.
const isDark = (share) => lightness(share) < 43;
