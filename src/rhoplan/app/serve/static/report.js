// What can be printed: the report on the model, and a sheet on this case.

import { amount, ask, beliefBars, beside, counted, download, el, latest, number, percent } from "./dom.js";
import { did, ending, overrides, question, state, weight } from "./state.js";
import { hasKey } from "./key.js";
import { run } from "./app.js";
import { word } from "./prefs.js";
import { moved, saveCase } from "./journal.js";
import { UNKNOWN, caseOf } from "./start.js";

const advise = latest((signal) => ask("advise", question(caseOf()), { signal }));

// A link carries no key: where the server has one, a report is fetched and saved, to be opened from there.
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="/api/v1/"]');
  if (!link || !hasKey()) return;
  event.preventDefault();
  const path = link.getAttribute("href").slice("/api/v1/".length);
  const name = decodeURIComponent(path.split("?")[0].split("/").at(-1));
  const what = path.startsWith("carry/") ? "card" : "report";
  run(async () => download(`${name} ${what}.html`, await ask(path, undefined, { raw: true }), "text/html"), "Writing the report …");
});

export async function showReport() {
  const advice = await advise();
  if (!advice) return null;
  const { model, agent } = state;
  const unit = model.reward_unit;
  const end = ending();
  const asked = `${encodeURIComponent(model.problem)}?weight=${weight()}${agent.horizon ? `&horizon=${agent.horizon}` : ""}${agent.near === undefined ? "" : `&near=${agent.near}`}`;
  const address = `/api/v1/report/${asked}`;
  const open = hasKey() ? "Save" : "Open";
  const report = el("section", { class: "box noprint" }, el("h2", {}, "The model"),
    el("p", {}, el("a", { href: address, target: "_blank", rel: "noopener" }, `${open} the printable report on this model`),
      ": question, tests, pathway, outcomes per 1,000, comparison, and what would change the first action. It takes a few seconds."),
    el("p", {}, el("button", { type: "button", class: "small", id: "save-plan", onclick: () => run(savePlan, "Writing the plan …") }, "Save the whole plan as one file"),
      ": it opens on a telephone, without a server or a network, and goes on from where this case stands, step by step."),
    el("p", {}, el("a", { href: `/api/v1/carry/${asked}&card=true`, target: "_blank", rel: "noopener" }, `${open} the card`), ": one page of A4 in large type."));
  const sheet = el("section", { class: "box sheet" },
    el("div", { class: "row wrap spread" }, el("h2", {}, "This case"),
      el("span", { class: "row noprint" },
        el("button", { type: "button", class: "small", disabled: !state.entries.length, onclick: () => run(saveCase, "Saving …") }, "Save"),
        el("button", { type: "button", class: "small strong", onclick: () => window.print() }, "Print"))),
    el("p", { class: "title" }, model.title, el("span", { class: "quiet" }, ` ${new Date().toLocaleString()}`)),
    state.start.prior ? el("p", {}, `Prior of this case, not the model's: ${Object.entries(state.start.prior).map(([name, share]) => `${name} ${percent(share)}`).join(", ")}.`) : null,
    state.start.known.length ? el("p", {}, `Known at the start, not paid for: ${state.start.known.map((pair) => pair.join(": ")).join(", ")}.`) : null,
    el("h3", {}, "What was done"), state.entries.length ? steps(unit) : el("p", {}, "Nothing yet."),
    el("p", {}, `Spent ${amount(advice.spent, unit)}.`),
    el("h3", {}, "Belief"), beliefBars(advice.belief),
    el("h3", {}, end ? "How it ended" : "Advice"),
    end ? el("p", {}, el("b", {}, end.commit), overrides(end) ? `, where the advice was ${end.advised}.` : ", as advised.")
      : [el("p", {}, el("b", {}, advice.is_test ? advice.do : `Stop: ${advice.do}`), ` because ${advice.reason}.`), beside(advice),
        el("p", {}, `If you stop now: ${advice.stop.commit}, P(wrong) ${percent(advice.stop.wrong)}. `, advice.is_test && advice.ahead
          ? `Still to come: ${counted(advice.ahead.tests, word("test"))}, about ${amount(advice.ahead.cost, unit)}; 9 in 10 ${word("cases")} at most ${counted(advice.ahead.tests_90, word("test"))} and ${amount(advice.ahead.cost_90, unit)}.${advice.ahead.cut_off ? ` ${advice.ahead.cut_off}.` : ""}` : "")],
    el("p", { class: "quiet" }, `Look-ahead ${advice.horizon}`, el("span", { class: "nats" }, `, price of information ${number(advice.weight)} ${unit} per nat`), `; rhoplan ${advice.version}.${advice.cost_only === null || !advice.weight ? "" : ` With cost alone the plan would do ${advice.cost_only}.`}`));
  return { content: el("div", { class: "report" }, sheet, report) };
}

async function savePlan() {
  const { model, agent } = state;
  const asked = { problem: model.problem, weight: weight(), horizon: agent.horizon, near: agent.near, ...caseOf() };
  download(`${model.problem}.html`, (await ask("carry", asked)).html, "text/html");
}

function steps(unit) {
  const result = (entry) => (entry.outcome === UNKNOWN ? "not known" : entry.outcome) ?? (entry.commit === undefined ? "not available" : "ends the case");
  const advice = (entry) => (overrides(entry) ? entry.advised : entry.unavailable === undefined ? "followed" : "–");
  const columns = [["result", result], [`cost, ${unit}`, (entry) => (entry.cost ? number(entry.cost) : "–")], ["belief", (entry) => moved(entry) ?? "–"],
    ["advice", advice], ["reason", (entry) => entry.why || "–"]];
  return el("div", { class: "scroll" }, el("table", { class: "stack steps" },
    el("thead", {}, el("tr", {}, ["done", ...columns.map(([name]) => name)].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, state.entries.map((entry, i) => el("tr", {}, el("th", { scope: "row" }, `${i + 1}. ${did(entry)}`),
      columns.map(([name, cell]) => el("td", { "data-label": name }, cell(entry))))))));
}
