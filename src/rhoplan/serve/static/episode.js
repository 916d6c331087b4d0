// An episode of a problem of the paper, step by step: where one is, what is believed, what every action is worth.

import { ask, beliefBars, el, fixed, latest, number, percent, plus, signed, svg } from "./dom.js";
import { freshCase, question, state } from "./state.js";

const look = latest(async (signal) => {
  const here = await ask("situation", { problem: state.model.problem, given: state.given }, { signal });
  return [here, here.ended ? null : await ask("decide", question({ given: state.given }), { signal })];
});

export async function showEpisode(place, redraw) {
  const found = await look();
  if (!found) return;
  const [here, decision] = found;
  const act = actions(here, decision, redraw);
  const hidden = state.teach && !state.prediction && !state.closed && decision;
  const over = state.closed || here.ended || !decision;
  place.replaceChildren(el("div", { class: "case" },
    el("div", { class: "column now" },
      over ? endBox(here, act) : hidden ? predictBox(here, redraw) : nextBox(here, decision, act),
      over || hidden ? null : valuesBox(here, decision, act)),
    el("div", { class: "column belief-column" }, mapBox(here), beliefBox(here)),
    el("div", { class: "column log-column" }, logBox(here, act))));
  keys(here, decision, act, hidden, over, redraw);
}

function actions(here, decision, redraw) {
  const act = {
    take(name, outcome) {
      const action = here.actions.find((row) => row.name === name);
      if (action.kind === "commit") state.closed = { commit: name, reward: action.reward };
      else {
        state.given = [...state.given, [name, outcome]];
        state.steps.push({ test: name, outcome, advised: decision.choice, kind: action.kind });
      }
      state.prediction = null;
      redraw();
    },
    draw(name) {
      const action = here.actions.find((row) => row.name === name);
      let chance = Math.random();
      const drawn = action.outcomes.find((row) => (chance -= row.probability) < 0) ?? action.outcomes.at(-1);
      act.take(name, drawn?.outcome);
    },
    undo() {
      if (state.closed) state.closed = null;
      else if (state.given.length) {
        state.given = state.given.slice(0, -1);
        state.steps.pop();
      } else return;
      state.prediction = null;
      redraw();
    },
    fresh() {
      freshCase();
      redraw();
    },
  };
  return act;
}

function keys(here, decision, act, hidden, over, redraw) {
  state.keys = { u: act.undo };
  if (over) return;
  if (hidden) {
    here.actions.slice(0, 9).forEach((row, i) => { state.keys[String(i + 1)] = () => predict(row.name, redraw); });
    return;
  }
  const chosen = here.actions.find((row) => row.name === decision.choice);
  chosen.outcomes.slice(0, 9).forEach((row, i) => { state.keys[String(i + 1)] = () => act.take(chosen.name, row.outcome); });
  state.keys.d = () => act.draw(decision.choice);
}

function predict(name, redraw) {
  state.prediction = name;
  redraw();
}

function predictBox(here, redraw) {
  return el("section", { class: "box next" }, el("h2", {}, "What would you do next?"),
    el("div", { class: "results" }, here.actions.slice(0, 60).map((row, i) =>
      el("button", { type: "button", class: "choice", onclick: () => predict(row.name, redraw) },
        i < 9 ? el("kbd", {}, String(i + 1)) : null, ` ${row.name}`, el("small", {}, row.kind)))));
}

function nextBox(here, decision, act) {
  const unit = state.model.reward_unit;
  const value = decision.actions.find((row) => row.name === decision.choice);
  const chosen = here.actions.find((row) => row.name === decision.choice);
  const over = decision.runner_up ? (decision.margin < 1e-9 ? `a tie with ${decision.runner_up}` : `${number(decision.margin, 3)} ${unit} better than ${decision.runner_up}`) : "the only action";
  return el("section", { class: "box next", "aria-live": "polite" }, el("h2", {}, "Do next"),
    state.prediction ? el("p", { class: "verdict" }, state.prediction === decision.choice
      ? `✓ You chose ${state.prediction}, as advised.` : `You chose ${state.prediction}.`) : null,
    el("div", { class: "headline" }, el("strong", { class: "do", "data-do": decision.choice }, decision.choice),
      el("span", { class: "cost" }, `${signed(value.reward)} ${unit} now`)),
    el("p", { class: "reason" }, `${value.kind}; worth ${signed(value.value, 3)} in all, ${over}. `,
      value.information > 1e-12 ? `It tells ${number(value.information, 3)} nats.` : "It tells nothing new."),
    outcomeButtons(chosen, act, true));
}

function outcomeButtons(action, act, numbered) {
  const sure = action.outcomes.length === 1;
  const label = (row) => (action.kind === "commit" ? `Do it: ${action.name}` : sure ? "Do it" : row.outcome);
  return el("div", { class: "results" }, action.outcomes.map((row, i) =>
    el("button", { type: "button", class: "choice", "data-outcome": row.outcome, onclick: () => act.take(action.name, row.outcome) },
      numbered && i < 9 ? el("kbd", {}, String(i + 1)) : null, ` ${label(row)}`, sure ? null : el("small", {}, percent(row.probability)))),
  sure ? null : el("button", { type: "button", class: "choice plain", onclick: () => act.draw(action.name) },
    numbered ? el("kbd", {}, "d") : null, " draw a result", el("small", {}, "by these chances")));
}

function valuesBox(here, decision, act) {
  const ranked = [...decision.actions].sort((a, b) => (b.name === decision.choice) - (a.name === decision.choice) || b.value - a.value);
  const ends = ranked.filter((row) => row.kind === "commit").slice(0, 4);
  const kept = ranked.filter((row) => row.kind !== "commit" || ends.includes(row) || row.name === decision.choice).slice(0, 16);
  const rows = kept.map((row) => {
    const action = here.actions.find((other) => other.name === row.name);
    return el("tr", { class: row.name === decision.choice ? "chosen" : null },
      el("th", { scope: "row" }, row.name === decision.choice ? "▸ " : "", row.name,
        row.name === decision.choice ? null : el("details", { class: "enter" }, el("summary", {}, "do this"), outcomeButtons(action, act, false))),
      el("td", { "data-label": "reward" }, plus(row.reward)), el("td", { "data-label": "informs" }, fixed(row.information, 3)),
      el("td", { "data-label": "× weight" }, plus(row.weighted_information)), el("td", { "data-label": "later" }, plus(row.continuation)),
      el("td", { "data-label": "value" }, plus(row.value, 3)));
  });
  return el("section", { class: "box options-box" }, el("h2", {}, "Actions now"),
    el("div", { class: "scroll" }, el("table", { class: "stack three" }, el("thead", {}, el("tr", {},
      ["action", "reward", "informs", "× weight", "later", "value"].map((name) => el("th", { scope: "col" }, name)))), el("tbody", {}, rows))),
    el("p", { class: "quiet" }, `value = reward + × weight + later, in ${state.model.reward_unit}; informs in nats.`,
      ranked.length > kept.length ? ` ${ranked.length - kept.length} actions of lower value are left out.` : ""));
}

function endBox(here, act) {
  const { closed } = state;
  return el("section", { class: "box next" }, el("h2", {}, "The episode has ended"),
    el("div", { class: "headline" }, el("strong", { class: "do", "data-closed": closed?.commit ?? "" }, closed?.commit ?? "Finished"),
      el("span", { class: "cost" }, `${signed(here.paid + (closed?.reward ?? 0))} ${state.model.reward_unit} expected in all`)),
    el("div", { class: "results" }, el("button", { type: "button", class: "choice strong", onclick: act.fresh }, "New episode"),
      el("button", { type: "button", class: "choice plain", onclick: act.undo }, el("kbd", {}, "u"), " Undo")));
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
  const top = belief ? Math.max(...Object.values(belief)) : 1;
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const share = belief?.[`r${row}c${column}`] ?? 0;
      const label = belief ? `row ${row}, column ${column}: ${percent(share)}` : `row ${row}, column ${column}`;
      board.append(svg("rect", { x: column * cell, y: row * cell, width: cell, height: cell, class: "cell",
        style: { fill: belief ? shade(share / top) : "#fff" } }, svg("title", {}, label)));
      if (belief && size <= 8) board.append(text(column, row, cell, percent(share), share / top > 0.35 ? "light" : ""));
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
    const tone = !done && good > 0.35 ? "light" : "";
    board.append(text(column, row - 0.13, cell, `#${i}`, tone), text(column, row + 0.15, cell, done ? "done" : percent(good), tone));
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

// One hue from white to dark blue: lightness alone carries the value.
function shade(share) {
  const light = 97 - 67 * Math.sqrt(Math.max(0, Math.min(1, share)));
  return `hsl(203 80% ${light}%)`;
}

function logBox(here, act) {
  const rows = state.steps.map((step) => el("li", {}, el("b", {}, step.test), step.outcome === "done" ? "" : `: ${step.outcome}`,
    step.advised !== step.test ? el("div", { class: "quiet" }, `advice was ${step.advised}`) : null));
  return el("section", { class: "box log" }, el("div", { class: "row" }, el("h2", {}, "Steps"),
    el("button", { type: "button", class: "small", id: "undo", disabled: !state.given.length && !state.closed, onclick: act.undo }, "undo (u)")),
  rows.length ? el("ol", {}, rows) : el("p", { class: "quiet" }, "Nothing done yet."),
  el("p", {}, `so far ${signed(here.paid)} ${state.model.reward_unit}`));
}
