// What can be printed: the report on the model, where the server has it, and a sheet on this case.

import { ask, beliefBars, el, number, percent } from "./dom.js";
import { question, state } from "./state.js";

export async function showReport(place) {
  const advice = await ask("advise", question({ given: state.given, unavailable: state.unavailable }));
  const unit = state.model.reward_unit;
  const link = state.catalogue.report
    ? el("p", {}, el("a", { href: `/api/v1/report/${encodeURIComponent(state.model.problem)}?weight=${state.weight}`, target: "_blank", rel: "noopener" },
      "Open the printable report on this model"), " – question, tests, pathway, outcomes per 1,000, comparison, sensitivity. It takes a few seconds.")
    : null;
  place.replaceChildren(el("section", { class: "box sheet" },
    el("div", { class: "row" }, el("h2", {}, `${state.model.title}: this case`),
      el("button", { type: "button", class: "small strong noprint", onclick: () => window.print() }, "Print")),
    link && el("div", { class: "noprint" }, link),
    el("p", {}, new Date().toLocaleString()),
    el("h3", {}, "Seen"), state.given.length
      ? el("ol", {}, state.given.map(([test, outcome]) => el("li", {}, `${test}: ${outcome}`))) : el("p", {}, "nothing yet"),
    state.unavailable.length ? el("p", {}, `Not available: ${state.unavailable.join(", ")}.`) : null,
    el("p", {}, `Spent ${number(advice.spent)} ${unit}.`),
    el("h3", {}, "Belief"), beliefBars(advice.belief),
    el("h3", {}, "Advice"), el("p", {}, el("b", {}, advice.is_test ? advice.do : `Stop: ${advice.do}`), ` because ${advice.reason}.`),
    el("p", {}, `If you stop now: ${advice.stop.commit}; chance that it is wrong ${percent(advice.stop.wrong)}. `,
      `Still to come: ${number(advice.ahead.tests, 1)} tests, about ${number(advice.ahead.cost)} ${unit}; 9 in 10 cases at most ${advice.ahead.tests_90} tests and ${number(advice.ahead.cost_90)} ${unit}.`),
    state.closed ? el("p", {}, `Closed with ${state.closed.commit}.`) : null,
    el("p", { class: "quiet" }, `Look-ahead ${advice.horizon}, ${number(advice.weight)} ${unit} per nat; rhoplan ${advice.version}. With cost alone: ${advice.cost_only}.`)));
}
