// The Case screen: what to do next and why, what was seen, what stopping means, what is still to come.

import { Refusal, amount, beliefBars, beside, counted, decimals, el, few, fixed, kindOf, latest, number, parts, percent, percents, plus, stopAll, stopped, thousand, working } from "./dom.js";
import { ending, entryOf, question, stake, state, unavailable } from "./state.js";
import { enter, predict, redraw, reset, run, undo } from "./app.js";
import { logBox, saveCase } from "./journal.js";
import { titled, word } from "./prefs.js";
import { isKey, shortcuts } from "./shortcuts.js";
import { drawSure, isUnsure } from "./uncertain.js";
import { UNKNOWN, caseOf, drawThresholds, noteBox, startBox, waitingRows } from "./start.js";

// What to do first, and the parts that follow it.
const advise = latest(async (signal, names) => {
  const coming = parts(question({ ...caseOf(), parts: names }), { signal });
  const { value: first } = await coming.next();
  if (first.kind === "missing") throw new Refusal({ message: first.words });
  return { first, coming };
});

export async function showCase() {
  const waits = !ending() && !(state.teach && !state.prediction);
  const found = await advise(waits ? ["first", "ahead", "cost-only", ...(isUnsure() ? ["uncertainty"] : []), ...(state.model.states.length === 2 ? ["thresholds"] : [])] : ["first"]);
  if (!found) return null;
  const advice = found.first.content;
  const last = state.entries.at(-1);
  if (last?.before && !last.after && last.outcome !== undefined) last.after = advice.belief;
  const hidden = state.teach && !state.prediction && !ending();
  const act = actions(advice);
  const ahead = el("section", { class: "box ahead-box" });
  const plain = el("div", { class: "cost-only" });
  const limits = el("section", { class: "box thresholds", hidden: true });
  const log = logBox({ title: "Case log", empty: "Nothing seen yet.", total: `spent ${amount(advice.spent, state.model.reward_unit)}` });
  const content = el("div", { class: "case" },
    el("div", { class: "column now" }, ending() ? closedBox(advice) : hidden ? predictBox(advice) : nextBox(advice, act, found.first, plain),
      hidden ? null : optionsBox(advice, act)),
    el("div", { class: "column belief-column" }, beliefBox(advice), hidden || ending() ? null : stopBox(advice, act), limits, startBox()),
    el("div", { class: "column log-column" }, log, waits ? ahead : null));
  const spoken = ending() ? `Case closed with ${ending().commit}` : hidden ? "What would you do next?" : `Do next: ${advice.is_test ? "" : "stop with "}${advice.do}; ${advice.beside}`;
  if (waits) drawAhead(ahead, advice, null);
  return { content, spoken, keys: keys(advice, act, hidden), start: waits ? () => fillIn(found.coming, advice, ahead, plain, limits) : null };
}

// The parts that follow the first, each drawn when it comes.
async function fillIn(coming, advice, ahead, plain, limits) {
  try {
    for await (const part of coming) {
      if (part.part === "ahead") drawAhead(ahead, advice, part);
      else if (part.part === "uncertainty") drawSure(plain, part);
      else if (part.part === "thresholds") { if (part.content) drawThresholds(limits, part); }
      else if (part.content && part.content.do !== advice.do) plain.prepend(otherwise(part));
    }
  } catch (error) {
    if (error.name === "AbortError") return; // another step was taken, or somebody did not want to wait
  }
  if (ahead.querySelector("[data-cancel]")) leave(ahead);
}

const leave = (ahead) => ahead.replaceChildren(el("h2", {}, "Still to come"), stopped(redraw));

const otherwise = ({ kind, content }) => el("p", { class: "note" }, el("b", {}, "Cost alone says otherwise: "),
  `with no price on information the plan would do ${content.do}.`, kind === "exact" ? "" : ` (${kind})`);

function actions(advice) {
  return {
    result(test, outcome) {
      const cost = advice.options.find((row) => row.test === test)?.cost ?? 0;
      enter(entryOf({ test, outcome }, advice, { advised: advice.do, cost, before: advice.belief }));
    },
    unknown(test) { this.result(test, UNKNOWN); },
    missing: (test) => enter(entryOf({ unavailable: test }, advice, { advised: advice.do })),
    commit: (name) => enter(entryOf({ commit: name }, advice, { advised: advice.do })),
  };
}

function keys(advice, act, hidden) {
  const found = { u: undo };
  const bind = (rows, work) => rows.slice(0, 9).forEach((row, i) => { found[String(i + 1)] = () => work(row); });
  if (ending()) return found;
  if (hidden) bind(choices(advice), predict);
  else if (!advice.is_test) bind([advice.do], act.commit);
  else {
    resultKeys(advice).forEach((name, i) => { if (isKey(name)) found[name] = () => act.result(advice.do, advice.results[i].outcome); });
    found.n = () => act.missing(advice.do);
    found.d = () => act.unknown(advice.do);
  }
  return found;
}

const resultKeys = (advice) => shortcuts(advice.results.map((row) => row.outcome),
  [...(state.model.record.tests?.[advice.do]?.outcomes ?? []), ...advice.commits.map((row) => row.commit)]);

const choices = (advice) => [...advice.options.map((row) => row.test).sort(), ...advice.commits.map((row) => row.commit).sort()];

function predictBox(advice) {
  const { reward_unit: unit } = state.model;
  const costs = Object.fromEntries(advice.options.map((row) => [row.test, row.cost]));
  return el("section", { class: "box next", "aria-label": "Your turn", tabindex: -1 },
    el("h2", {}, "What would you do next?"),
    el("p", {}, "Choose first. The advice and its reasons appear after that."),
    el("div", { class: "results tall" }, choices(advice).map((name, i) =>
      el("button", { type: "button", class: name in costs ? "choice" : "choice plain", onclick: () => predict(name) },
        i < 9 ? el("kbd", {}, String(i + 1)) : null, el("span", {}, name),
        el("small", {}, name in costs ? `${word("test")} for ${amount(costs[name], unit)}` : `stop with this ${word("commit")}`)))));
}

function nextBox(advice, act, part, plain) {
  const unit = state.model.reward_unit;
  const chosen = advice.options.find((row) => row.test === advice.do);
  const body = [el("h2", {}, "Do next"), state.prediction ? verdict(advice) : null,
    el("div", { class: "headline" },
      el("strong", { class: "do", "data-do": advice.do }, advice.is_test ? advice.do : `Stop: ${advice.do}`),
      el("span", { class: "cost" }, advice.is_test ? `costs ${amount(chosen.cost, unit)}` : "no further cost")),
    advice.is_test ? noteBox(advice.do) : null, el("p", { class: "reason" }, `because ${advice.reason}.`), beside(advice)];
  if (advice.is_test) {
    const chances = percents(advice.results.map((row) => row.probability));
    const names = resultKeys(advice);
    body.push(el("p", { class: "label", id: "results-label" }, "What was the result?"),
      el("div", { class: "results", role: "group", "aria-labelledby": "results-label" },
        advice.results.map((row, i) => el("button", {
          type: "button", class: "choice", "data-outcome": row.outcome, onclick: () => act.result(advice.do, row.outcome),
        }, isKey(names[i]) ? el("kbd", {}, names[i]) : null, el("span", {}, row.outcome),
        el("small", {}, `${chances[i]}, then ${row.then}`))),
        el("button", { type: "button", class: "choice plain", "data-unknown": "", title: "It was run and paid for, but the result is not known", onclick: () => act.unknown(advice.do) },
          el("kbd", {}, "d"), el("span", {}, "don't know")),
        el("button", { type: "button", class: "choice plain", "data-missing": "", onclick: () => act.missing(advice.do) },
          el("kbd", {}, "n"), el("span", {}, "not available"))));
  } else {
    body.push(el("div", { class: "results" }, el("button", { type: "button", class: "choice strong", "data-commit": advice.do,
      onclick: () => act.commit(advice.do) }, el("kbd", {}, "1"), el("span", {}, `Close the case with ${advice.do}`))));
  }
  body.push(plain, kindOf(part));
  return el("section", { class: "box next", "aria-label": "Do next", tabindex: -1 }, body);
}

function verdict(advice) {
  if (state.prediction === advice.do) return el("p", { class: "verdict good" }, `✓ You chose ${state.prediction}, as advised.`);
  const mine = [...advice.options, ...advice.commits].find((row) => (row.test ?? row.commit) === state.prediction);
  return el("p", { class: "verdict" }, `You chose ${state.prediction}${mine ? `: by this count worth ${amount(mine.behind, state.model.reward_unit)} less than the advice` : ""}.`);
}

function closedBox(advice) {
  const unit = state.model.reward_unit;
  const { commit, advised } = ending();
  const closed = advice.commits.find((row) => row.commit === commit);
  return el("section", { class: "box next", "aria-label": "Case closed", tabindex: -1 }, el("h2", {}, "Case closed"),
    el("div", { class: "headline" }, el("strong", { class: "do", "data-closed": commit }, commit), el("span", { class: "cost" }, `spent ${amount(advice.spent, unit)}`)),
    el("p", {}, commit === advised ? "This was the advice. " : `The advice was ${advised}. `,
      `Chance that another ${word("commit")} would have been better: ${percent(closed.wrong)}. Expected ${stake()}: ${amount(closed.stake, unit)}.`),
    el("div", { class: "results" },
      el("button", { type: "button", class: "choice strong", onclick: reset }, "New case"),
      el("button", { type: "button", class: "choice plain", onclick: () => run(saveCase, "Saving …") }, "Save this case"),
      el("button", { type: "button", class: "choice plain", onclick: undo }, el("kbd", {}, "u"), el("span", {}, "Undo"))));
}

function beliefBox(advice) {
  const [top, share] = Object.entries(advice.belief).reduce((best, pair) => (pair[1] > best[1] ? pair : best));
  const rare = 1 - share > 1e-11 && 1 - share < 0.001;
  return el("section", { class: "box belief-box" }, el("h2", {}, "Belief"), beliefBars(advice.belief),
    el("p", { class: "quiet" }, rare ? `Of ${word("cases")} like this, ${thousand(1 - share)} is not ${top}.` : `In 1,000 ${word("cases")} like this, ${thousand(share)} are ${top}.`),
    el("p", { class: "quiet nats" }, `Doubt: ${number(advice.entropy, 3)} nats (${number(advice.entropy_bits, 3)} bits)`));
}

function stopBox(advice, act) {
  const { stop } = advice;
  const unit = state.model.reward_unit;
  const others = advice.commits.filter((row) => row.commit !== stop.commit);
  return el("section", { class: "box stop-box" }, el("h2", {}, "If you stop now"),
    el("dl", { class: "facts" },
      el("dt", {}, word("commit")), el("dd", {}, stop.commit),
      el("dt", {}, `expected ${stake()}`), el("dd", {}, amount(stop.stake, unit)),
      el("dt", {}, "P(wrong)"), el("dd", {}, percent(stop.wrong))),
    advice.is_test ? el("button", { type: "button", class: "small", "data-stop": stop.commit, onclick: () => act.commit(stop.commit) }, `Stop with ${stop.commit}`) : null,
    others.length ? el("details", { class: "enter" }, el("summary", {}, `with another ${word("commit")}`),
      el("div", { class: "results" }, others.map((row) => el("button", { type: "button", class: "choice plain", "data-stop": row.commit, onclick: () => act.commit(row.commit) },
        el("span", {}, row.commit), el("small", {}, `${stake()} ${amount(row.stake, unit)}, wrong ${percent(row.wrong)}`))))) : null);
}

// Tests from which on they can be searched, and how many are shown until somebody asks for all.
const MANY = 15;
const SHOWN = 10;

// A field that leaves those of `rows` whose name holds what is typed; `all` says whether everything is shown.
function finder(rows, what) {
  let all = false;
  const field = el("input", { type: "search", class: "find", "aria-label": `Find a ${what}`, placeholder: `Find a ${what} …`, autocomplete: "off" });
  const said = el("span", { class: "quiet", role: "status" });
  const more = el("button", { type: "button", class: "small", "data-all": "" });
  const sift = () => {
    const typed = field.value.trim().toLowerCase();
    const fits = rows.filter(({ name }) => name.toLowerCase().includes(typed));
    const kept = typed || all ? fits : fits.slice(0, SHOWN);
    const named = kept.filter(({ name }) => name.toLowerCase() === typed);
    for (const { node } of [...named, ...rows.filter((row) => !named.includes(row))]) {
      node.hidden = !kept.some((row) => row.node === node);
      node.parentNode?.append(node);
    }
    said.textContent = kept.length === rows.length ? `all ${rows.length}` : `${kept.length} of ${rows.length}, the best first`;
    more.hidden = Boolean(typed);
    more.textContent = all ? "show the best" : `show all ${rows.length}`;
  };
  field.addEventListener("input", sift);
  more.addEventListener("click", () => { all = !all; sift(); });
  sift();
  return el("div", { class: "row wrap finder noprint" }, field, said, more);
}

function optionsBox(advice, act) {
  const unit = state.model.reward_unit;
  const left = unavailable().length ? ` Not available: ${unavailable().join(", ")}.` : "";
  if (!advice.options.length) return el("section", { class: "box options-box" }, el("h2", {}, `${titled("tests")} now`), el("p", {}, `No ${word("test")} is left.${left}`));
  const cents = Math.max(decimals(advice.options.map((option) => option.cost)), decimals(advice.options.map((option) => option.net)));
  const nats = decimals(advice.options.map((option) => option.information), 3);
  const bounded = advice.options.some((option) => option.bounds);
  const row = (option) => {
    const chosen = option.test === advice.do;
    return el("tr", { class: chosen ? "chosen" : null, "data-test": option.test }, el("th", { scope: "row" }, chosen ? `→ ${option.test}` : ending() ? option.test : otherTest(option, act)),
      el("td", { "data-label": "cost" }, fixed(option.cost, cents)), el("td", { "data-label": "decides" }, plus(option.decides, cents)),
      el("td", { "data-label": "informs", class: "nats" }, fixed(option.information, nats)), el("td", { "data-label": "× weight", class: "nats" }, plus(option.weighted, cents)),
      el("td", { "data-label": "net", class: option.net > 0 ? "good" : "bad" }, plus(option.net, cents)),
      bounded ? el("td", { "data-label": "at most" }, option.bounds ? plus(option.bounds[1], cents) : "–") : null);
  };
  const rows = advice.options.map((option) => ({ name: option.test, node: row(option) }));
  const names = [word("test"), "cost", "decides", "informs", "× weight", "net", ...(bounded ? ["at most"] : [])];
  return el("section", { class: "box options-box" }, el("h2", {}, `${titled("tests")} now`), rows.length > MANY ? finder(rows, word("test")) : null,
    el("div", { class: "scroll" }, el("table", { class: "stack" }, el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col", class: ["informs", "× weight"].includes(name) ? "nats" : null }, name)))),
    el("tbody", {}, rows.map(({ node }) => node)), el("tbody", {}, waitingRows(advice, names.length)))),
    el("p", { class: "quiet" }, "net = −cost + decides", el("span", { class: "nats" }, " + × weight"), `, in ${unit}, beyond stopping now. Decides: worth to the decision.`, el("span", { class: "nats" }, " Informs: expected information in nats."),
      bounded ? " Net is that of the plan found; no plan that begins so has more than what stands under at most." : "",
      ending() || !advice.options.some((option) => option.test !== advice.do) ? "" : el("span", { class: "noprint" }, ` Open a ${word("test")} to enter its result instead.`), left));
}

function otherTest(option, act) {
  const chances = percents(option.outcomes.map((row) => row.probability));
  return el("details", { class: "enter" }, el("summary", { "aria-label": `${option.test}: enter its result` }, option.test),
    el("div", { class: "results" }, option.outcomes.map((row, i) =>
      el("button", { type: "button", class: "small choice", onclick: () => act.result(option.test, row.outcome) },
        el("span", {}, row.outcome), el("small", {}, chances[i]))),
    el("button", { type: "button", class: "small choice plain", onclick: () => act.unknown(option.test) }, "don't know"),
    el("button", { type: "button", class: "small choice plain", onclick: () => act.missing(option.test) }, "not available")));
}

// What is still to come; nothing of it yet where `part` is null.
function drawAhead(place, advice, part) {
  const unit = state.model.reward_unit;
  const ahead = part?.content;
  const body = !advice.is_test ? [el("p", { class: "large" }, "Nothing: decide now.")]
    : !part ? [working(() => { stopAll(); leave(place); }, "Working it out …")]
      : !ahead ? [kindOf(part)]
        : [el("p", { class: "large" }, `${counted(ahead.tests, word("test"))}, about ${amount(ahead.cost, unit)}`),
          el("p", {}, `9 in 10 ${word("cases")}: at most ${counted(ahead.tests_90, word("test"))} and ${amount(ahead.cost_90, unit)}`),
          el("p", { class: "quiet" }, `Right in the end: ${percent(ahead.right)}`),
          el("ul", { class: "ends quiet" }, few(Object.entries(ahead.commits), 8).map(([name, share]) => el("li", {}, el("span", {}, name), el("span", { class: "number" }, percent(share))))),
          ahead.cut_off ? el("p", {}, `${ahead.cut_off}.`) : null, kindOf(part)];
  place.replaceChildren(el("h2", {}, "Still to come"), ...body.filter(Boolean));
}
