// The model as text: edit it, see what is wrong and on which line, use it, take it away.

import { ask, counted, download, el, later, latest } from "./dom.js";
import { state } from "./state.js";
import { openModel, redraw } from "./app.js";
import { draftText, fileOf, fromText, saveText, showModelForm } from "./form.js";

const ENDINGS = { yaml: "yaml", yml: "yaml", json: "json", toml: "toml", pomdp: "pomdp", pomdpx: "pomdpx", drn: "drn" };
const LANGUAGES = [...new Set(Object.values(ENDINGS))];
const check = latest((signal, body) => ask("models", body, { signal }));

const SHOWN = 20000;
const FORMED = ["yaml", "json", "toml"];
let asText = false; // whether the text is shown where there is a form, too

const toggle = (text, work) => ["Form", "Text"].map((name) => el("button", { type: "button", class: "small", id: `as-${name.toLowerCase()}`, "aria-pressed": String((name === "Text") === text),
  onclick: () => (name === "Text") !== text && work() }, name));

export async function showModel() {
  const { model } = state;
  let why = null;
  if (model.text === null) {
    const text = JSON.stringify(model.record, null, 1);
    return { content: el("section", { class: "box" }, el("h2", {}, model.title),
      el("p", {}, "This problem moves, or has several hidden factors; ", el("code", {}, `rhoplan show ${model.problem} --yaml`), " writes it as a model file. Its numbers:"),
      el("pre", { class: "scroll numbers", tabindex: 0 }, text.length > SHOWN ? `${text.slice(0, SHOWN)}\n…` : text)) };
  }
  if (!asText && FORMED.includes(model.language)) {
    try {
      return await showModelForm(toggle(false, () => { asText = true; redraw(); }));
    } catch (error) {
      if (error.status !== 422) throw error; // a model that no form can show stays as text
      why = error.message;
    }
  }
  const shipped = [...state.catalogue.models, ...state.catalogue.problems].some(({ name }) => name === model.problem.split(":")[0]);
  const name = el("input", { type: "text", id: "model-name", maxlength: 60, value: shipped ? `my-${model.problem.split(":")[0]}` : model.problem });
  const language = el("select", { id: "model-language", "aria-label": "Language" }, LANGUAGES.map((kind) => el("option", { value: kind }, kind)));
  language.value = model.language;
  const lines = el("pre", { class: "lines", "aria-hidden": "true" });
  const area = el("textarea", { id: "model-text", "aria-label": "Text of the model", spellcheck: "false", wrap: "off", "aria-describedby": "model-said", value: model.text });
  area.value = (await draftText()) ?? model.text;
  const said = el("div", { id: "model-said", class: "said", role: "status", "aria-live": "polite" }, why ?? "Change the text; it is checked as you type.");
  const body = (more) => ({ name: name.value.trim() || "model", text: area.value, language: language.value, ...more });

  const number = (bad) => {
    const count = area.value.split("\n").length;
    lines.replaceChildren(...Array.from({ length: count }, (_, i) => el("span", { class: i + 1 === bad ? "bad" : null }, `${i + 1}\n`)));
    lines.scrollTop = area.scrollTop;
  };
  const complain = (error) => {
    number(error.line);
    area.setAttribute("aria-invalid", "true");
    said.className = "said bad";
    said.replaceChildren(error.line ? el("button", { type: "button", class: "small", onclick: () => jump(area, error.line) }, `line ${error.line}`) : "",
      " ", error.field && error.field !== "text" && !error.message.startsWith(error.field) ? el("code", {}, error.field) : "", ` ${error.message}`);
  };
  const fine = (found) => {
    number(0);
    area.removeAttribute("aria-invalid");
    said.className = "said good";
    const parts = found.flat ? `${counted(found.tests, "test")}, ${counted(found.commits, "decision")}` : `${counted(found.actions, "action")} at the start`;
    said.replaceChildren(`✓ ${counted(found.states, "state")}, ${parts}; look-ahead ${found.horizon}.`,
      ...found.cautions.map(({ text }) => el("div", { class: "doubt" }, `Caution: ${text}`)));
  };
  const tell = (found) => found && (found.sound ? fine(found) : complain(found.error));
  const look = later(400, () => check(body({ check_only: true })).then(tell).catch(complain));
  const use = async () => {
    try {
      const checked = await ask("models", body({ check_only: true })); // one of its own: what is typed meanwhile does not end it
      tell(checked);
      if (!checked.sound) return;
      const found = await ask("models", body());
      await openModel(found.name, { tab: "Case" });
    } catch (error) { complain(error); }
  };
  area.addEventListener("input", () => { number(0); look(); });
  area.addEventListener("scroll", () => { lines.scrollTop = area.scrollTop; });
  for (const one of [language, name]) one.addEventListener("change", look);

  const file = el("input", { type: "file", accept: Object.keys(ENDINGS).map((ending) => `.${ending}`).join(), id: "model-file", class: "unseen", onchange: async (event) => {
    const [chosen] = event.target.files;
    if (!chosen) return;
    area.value = await chosen.text();
    const [, stem, ending] = chosen.name.match(/^(.*?)(?:\.([^.]*))?$/);
    language.value = ENDINGS[ending?.toLowerCase()] ?? "yaml";
    name.value = stem.replace(/[^\w .-]/g, "-").slice(0, 60) || "model";
    number(0);
    look();
  } });
  const toForm = async () => {
    try {
      await fromText(area.value, language.value);
      asText = false;
      await redraw();
    } catch (error) { complain(error); }
  };
  const content = el("section", { class: "box" },
    el("div", { class: "row wrap" }, toggle(true, toForm), el("label", {}, "Name ", name), language,
      el("button", { type: "button", class: "small strong", id: "model-use", onclick: use }, "Use this model"),
      fileOf(model.problem) ? el("button", { type: "button", class: "small", id: "model-save", onclick: () => saveText(model.problem, area.value).catch(complain) }, `Save to ${fileOf(model.problem)}`) : null,
      el("button", { type: "button", class: "small", onclick: () => download(`${name.value || "model"}.${language.value}`, area.value) }, "Download"),
      el("label", { class: "small button" }, "Open a file …", file)),
    said, el("div", { class: "editor" }, lines, area),
    el("p", { class: "quiet" }, "The text stays on this machine: the server keeps it in memory and forgets it when nobody uses it."));
  number(0);
  return { content };
}

function jump(area, line) {
  const rows = area.value.split("\n");
  const start = rows.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (rows[line - 1]?.length ?? 0));
  area.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(area).lineHeight));
}
