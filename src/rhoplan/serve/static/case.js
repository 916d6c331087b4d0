// The Case screen: what to do next and why, what was seen, what stopping means, what is still to come.

import { ask, beliefBars, download, el, fixed, latest, number, percent, plus, thousand } from "./dom.js";
import { freshCase, question, state } from "./state.js";

const advise = latest((signal) => ask("advise", question({ given: state.given, unavailable: state.unavailable }), { signal }));

export async function showCase(place, redraw) {
  const advice = await advise();
  if (!advice) return;
  const last = state.steps.at(-1);
  if (last?.before && !last.after) last.after = advice.belief;
  const hidden = state.teach && !state.prediction && !state.closed;
  const act = actions(advice, redraw);
  place.replaceChildren(el("div", { class: "case" },
    el("div", { class: "column now" }, hidden ? predictBox(advice, redraw) : nextBox(advice, act, redraw),
      hidden ? null : optionsBox(advice, act)),
    el("div", { class: "column belief-column" }, beliefBox(advice), hidden ? null : stopBox(advice, act)),
    el("div", { class: "column log-column" }, logBox(act), hidden ? null : aheadBox(advice))));
  keys(advice, act, hidden, redraw);
}

function actions(advice, redraw) {
  return {
    result(test, outcome) {
      const option = advice.options.find((row) => row.test === test);
      const after = test === advice.do ? advice.results.find((row) => row.outcome === outcome)?.belief : null;
      state.steps.push({ test, outcome, cost: option?.cost ?? 0, before: advice.belief, after, advised: advice.do });
      state.given = [...state.given, [test, outcome]];
      state.prediction = null;
      redraw();
    },
    missing(test) {
      state.unavailable = [...state.unavailable, test];
      state.steps.push({ test, outcome: null, cost: 0, advised: advice.do });
      state.prediction = null;
      redraw();
    },
    commit(name) {
      state.closed = { commit: name, advised: advice.do, spent: advice.spent, wrong: name === advice.stop.commit ? advice.stop.wrong : null };
      redraw();
    },
    undo() {
      if (state.closed) state.closed = null;
      else if (state.steps.length) {
        const last = state.steps.pop();
        if (last.outcome === null) state.unavailable = state.unavailable.slice(0, -1);
        else state.given = state.given.slice(0, -1);
      } else return;
      state.prediction = null;
      redraw();
    },
    fresh() {
      freshCase();
      redraw();
    },
  };
}

function keys(advice, act, hidden, redraw) {
  state.keys = { u: act.undo };
  if (state.closed) return;
  if (hidden) {
    choices(advice).slice(0, 9).forEach((name, i) => { state.keys[String(i + 1)] = () => predict(name, redraw); });
  } else if (advice.is_test) {
    advice.results.slice(0, 9).forEach((row, i) => { state.keys[String(i + 1)] = () => act.result(advice.do, row.outcome); });
    state.keys.n = () => act.missing(advice.do);
  } else {
    state.keys["1"] = () => act.commit(advice.do);
  }
}

const choices = (advice) => [...advice.options.map((row) => row.test).sort(), ...commits()];
const commits = () => Object.keys(state.model.record.commits ?? state.model.record.losses);

function predict(name, redraw) {
  state.prediction = name;
  redraw();
}

function predictBox(advice, redraw) {
  return el("section", { class: "box next", "aria-label": "Your turn" },
    el("h2", {}, "What would you do next?"),
    el("p", {}, "Choose first; the advice and its reasons appear after that."),
    el("div", { class: "results" }, choices(advice).map((name, i) =>
      el("button", { type: "button", class: "choice", onclick: () => predict(name, redraw) },
        i < 9 ? el("kbd", {}, String(i + 1)) : null, ` ${name}`,
        el("small", {}, commits().includes(name) ? "stop and commit" : `cost ${number(advice.options.find((row) => row.test === name)?.cost)}`)))));
}

function nextBox(advice, act, redraw) {
  const unit = state.model.reward_unit;
  if (state.closed) return closedBox(advice, act);
  const chosen = advice.options.find((row) => row.test === advice.do);
  const head = el("div", { class: "headline" },
    el("strong", { class: "do", "data-do": advice.do }, advice.is_test ? advice.do : `Stop: ${advice.do}`),
    el("span", { class: "cost" }, advice.is_test ? `${number(chosen.cost)} ${unit}` : "no further cost"));
  const body = [el("h2", {}, "Do next"), state.prediction ? verdict(advice) : null, head,
    el("p", { class: "reason" }, `because ${advice.reason}.`)];
  if (advice.is_test) {
    body.push(el("p", { class: "label", id: "results-label" }, "What was the result?"),
      el("div", { class: "results", role: "group", "aria-labelledby": "results-label" },
        advice.results.map((row, i) => el("button", {
          type: "button", class: "choice", "data-outcome": row.outcome, onclick: () => act.result(advice.do, row.outcome),
        }, i < 9 ? el("kbd", {}, String(i + 1)) : null, ` ${row.outcome}`,
        el("small", {}, `${percent(row.probability)}, then ${row.then}`))),
        el("button", { type: "button", class: "choice plain", "data-missing": "", onclick: () => act.missing(advice.do) },
          el("kbd", {}, "n"), " not available")));
  } else {
    body.push(el("div", { class: "results" }, el("button", { type: "button", class: "choice strong", "data-commit": advice.do,
      onclick: () => act.commit(advice.do) }, el("kbd", {}, "1"), ` Close the case with ${advice.do}`)));
  }
  if (advice.cost_only !== advice.do) {
    body.push(el("p", { class: "note" }, el("b", {}, "Cost alone says otherwise: "),
      `with no price on information the plan would do ${advice.cost_only}.`));
  }
  return el("section", { class: "box next", "aria-label": "Do next", "aria-live": "polite" }, body);
}

function verdict(advice) {
  const mine = advice.options.find((row) => row.test === state.prediction);
  const best = advice.options.find((row) => row.test === advice.do)?.net ?? 0;
  if (state.prediction === advice.do) return el("p", { class: "verdict good" }, `✓ You chose ${state.prediction}, as advised.`);
  const worth = mine ? mine.net : state.prediction === advice.stop.commit ? 0 : null;
  return el("p", { class: "verdict" }, `You chose ${state.prediction}`,
    worth === null ? "; another commit is better here." : `: by this count ${number(best - worth)} ${state.model.reward_unit} less than the advice.`);
}

function closedBox(advice, act) {
  const unit = state.model.reward_unit;
  const { commit, advised, spent, wrong } = state.closed;
  return el("section", { class: "box next", "aria-live": "polite" }, el("h2", {}, "Case closed"),
    el("div", { class: "headline" }, el("strong", { class: "do", "data-closed": commit }, commit), el("span", { class: "cost" }, `spent ${number(spent)} ${unit}`)),
    el("p", {}, wrong === null ? "" : `Chance that it is not the best commit: ${percent(wrong)}. `,
      commit === advised ? "This was the advice." : `The advice was ${advised}.`),
    el("div", { class: "results" },
      el("button", { type: "button", class: "choice strong", onclick: act.fresh }, "New case"),
      el("button", { type: "button", class: "choice plain", onclick: () => saveCase(advice) }, "Save this case"),
      el("button", { type: "button", class: "choice plain", onclick: act.undo }, el("kbd", {}, "u"), " Undo")));
}

function saveCase(advice) {
  const record = { problem: state.model.problem, weight: state.weight, horizon: advice.horizon, given: state.given,
    unavailable: state.unavailable, closed: state.closed, steps: state.steps.map(({ before, after, ...rest }) => rest), version: advice.version };
  download(`${state.model.problem}-case.json`, JSON.stringify(record, null, 1), "application/json");
}

function beliefBox(advice) {
  const [top, share] = Object.entries(advice.belief).reduce((best, pair) => (pair[1] > best[1] ? pair : best));
  return el("section", { class: "box belief-box" }, el("h2", {}, "Belief"), beliefBars(advice.belief),
    el("p", { class: "quiet" }, `In 1,000 cases like this, ${thousand(share)} are ${top}.`),
    el("p", { class: "quiet" }, `Doubt: ${number(advice.entropy, 3)} nats (${number(advice.entropy / Math.LN2, 3)} bits)`));
}

function stopBox(advice, act) {
  const { stop } = advice;
  const losses = state.model.losses;
  return el("section", { class: "box stop-box" }, el("h2", {}, "If you stop now"),
    el("dl", { class: "facts" },
      el("dt", {}, "commit"), el("dd", {}, stop.commit),
      el("dt", {}, losses ? "expected loss" : "expected reward"), el("dd", {}, `${number(losses ? -stop.value : stop.value)} ${state.model.reward_unit}`),
      el("dt", {}, "P(wrong)"), el("dd", {}, percent(stop.wrong))),
    !state.closed && advice.is_test ? el("button", { type: "button", class: "small", onclick: () => act.commit(stop.commit) }, `Stop here with ${stop.commit}`) : null);
}

function optionsBox(advice, act) {
  const unit = state.model.reward_unit;
  if (!advice.options.length) return el("section", { class: "box" }, el("h2", {}, "Tests"), el("p", {}, "No test is left."));
  const row = (option) => {
    const outcomes = state.model.record.tests[option.test]?.outcomes ?? [];
    const menu = el("details", { class: "enter" }, el("summary", {}, "enter result"),
      el("div", { class: "results" }, outcomes.map((outcome) =>
        el("button", { type: "button", class: "small", onclick: () => act.result(option.test, outcome) }, outcome)),
        el("button", { type: "button", class: "small plain", onclick: () => act.missing(option.test) }, "not available")));
    return el("tr", { class: option.test === advice.do ? "chosen" : null },
      el("th", { scope: "row" }, option.test === advice.do ? "▸ " : "", option.test, state.closed || option.test === advice.do ? null : menu),
      el("td", { "data-label": "cost" }, fixed(option.cost)), el("td", { "data-label": "decides" }, plus(option.decides)),
      el("td", { "data-label": "informs" }, fixed(option.information, 3)), el("td", { "data-label": "× weight" }, plus(option.weighted)),
      el("td", { "data-label": "net", class: option.net > 0 ? "good" : "bad" }, plus(option.net)));
  };
  return el("section", { class: "box options-box" }, el("h2", {}, "Tests now"),
    el("div", { class: "scroll" }, el("table", { class: "stack three" }, el("thead", {}, el("tr", {},
      ["test", "cost", "decides", "informs", "× weight", "net"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, advice.options.map(row)))),
    el("p", { class: "quiet" }, `net = −cost + decides + × weight, in ${unit}, beyond stopping now; informs in nats.`,
      state.unavailable.length ? ` Not available: ${state.unavailable.join(", ")}.` : ""));
}

function logBox(act) {
  const rows = state.steps.map((step) => {
    if (step.outcome === null) return el("li", {}, el("b", {}, step.test), " not available");
    const moved = step.after && Object.keys(step.after).reduce((best, name) =>
      (Math.abs(step.after[name] - step.before[name]) > Math.abs(step.after[best] - step.before[best]) ? name : best));
    return el("li", {}, el("b", {}, step.test), `: ${step.outcome}`, el("span", { class: "number" }, `−${number(step.cost)}`),
      moved ? el("div", { class: "quiet" }, `${moved} ${percent(step.before[moved])} → ${percent(step.after[moved])}`) : null,
      step.advised !== step.test ? el("div", { class: "quiet" }, `advice was ${step.advised}`) : null);
  });
  const spent = state.steps.reduce((sum, step) => sum + step.cost, 0);
  return el("section", { class: "box log" }, el("div", { class: "row" }, el("h2", {}, "Case log"),
    el("button", { type: "button", class: "small", id: "undo", disabled: !state.steps.length && !state.closed, onclick: act.undo }, "undo (u)")),
  rows.length ? el("ol", {}, rows) : el("p", { class: "quiet" }, "Nothing seen yet."),
  el("p", {}, `spent ${number(spent)} ${state.model.reward_unit}`));
}

function aheadBox(advice) {
  const { ahead } = advice;
  const unit = state.model.reward_unit;
  const ends = Object.entries(ahead.commits).map(([name, share]) => `${name} ${percent(share)}`).join(", ");
  return el("section", { class: "box ahead-box" }, el("h2", {}, "Still to come"),
    advice.is_test
      ? [el("p", { class: "large" }, `${number(ahead.tests, 1)} tests, about ${number(ahead.cost)} ${unit}`),
        el("p", {}, `9 in 10 cases: at most ${ahead.tests_90} tests and ${number(ahead.cost_90)} ${unit}`),
        el("p", { class: "quiet" }, `Ends with ${ends}; right in ${percent(ahead.right)}.`),
        ahead.cut > 1e-9 ? el("p", { class: "quiet" }, `${percent(ahead.cut)} go on beyond ${state.model.cap} tests.`) : null]
      : el("p", { class: "large" }, "Nothing: decide now."));
}
