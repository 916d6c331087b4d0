// Numbers as a person types them. What can be read in two ways is refused, and both readings are named. The rule is the
// same as for what is typed in the terminal: see rhoplan.io.typed. `where`: number, probability, or percent for a field
// with a % sign beside it.

import { el } from "./dom.js";

const NUMBER = /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/;
const TWO_READINGS = /^([-+]?[1-9][0-9]{0,2})[.,]([0-9]{3})$/;
const THOUSANDS = /^[1-9][0-9]{0,2}(,[0-9]{3})+$/;
const GROUPS = /^([-+]?[1-9][0-9]{0,2}([.,])[0-9]{3}(?:\2[0-9]{3})*)(?:(?!\2)[.,]([0-9]+))?$/;
const DECIMAL_COMMA = /^[-+]?[0-9]*,[0-9]+$/;
const WITH_COMMAS = /^[-+0-9.]*,[-+0-9.,]*$/;
const COUNT = /^([0-9.,]+)\s*(?:in|of|per|out of|\/|:)\s*([0-9.,]+)$/i;
const EXPECTED = { number: "a number", probability: "a probability such as 0.4, 40% or 2 in 5", percent: "a percentage such as 40" };

// The number that a text is. Throws an error whose message says what is wrong.
export function readTyped(typed, where = "number") {
  const text = typed.trim();
  checkTyped(text, where);
  const counted = where === "probability" ? COUNT.exec(text) : null;
  const { body, percent } = where === "number" ? { body: text, percent: false } : withoutPercent(text);
  let value = NUMBER.test(body) ? Number(body) : NaN;
  if (counted) {
    const [part, whole] = counted.slice(1).map((number) => Number(number.replaceAll(",", "")));
    value = whole > 0 && part <= whole ? part / whole : NaN;
  }
  if (!Number.isFinite(value)) throw new Error(`${EXPECTED[where]} is expected; this is '${text.slice(0, 60)}'`);
  return percent || where === "percent" ? value / 100 : value;
}

// Throws where a text can be read in two ways, has a decimal comma, or is above 1 as a probability. Other texts pass.
export function checkTyped(typed, where = "number") {
  const text = typed.trim();
  const counted = where === "probability" ? COUNT.exec(text) : null;
  if (counted) {
    for (const part of counted.slice(1)) if (!THOUSANDS.test(part)) checkNumber(part);
    return;
  }
  const { body, percent } = where === "number" ? { body: text, percent: false } : withoutPercent(text);
  if (where === "number" || body.includes(",") || body.split(".").length > 2) checkNumber(body, percent ? "%" : "", where === "probability");
  if (where === "probability" && !percent && NUMBER.test(body) && Number(body) > 1) {
    throw new Error(`a probability lies between 0 and 1; this is '${text}'${Number(body) <= 100 ? `: write ${text}%` : ""}`);
  }
}

function checkNumber(text, sign = "", isProbability = false) {
  const found = TWO_READINGS.exec(text);
  if (found) {
    const [, whole, rest] = found;
    const decimals = rest.replace(/0+$/, "");
    const value = decimals ? `${whole}.${decimals}` : whole;
    const written = decimals.length === 3 ? `${value}0` : value;
    throw new Error(`'${text}${sign}' can be ${value}${sign} or ${whole},${rest}${sign}: write ${written}${sign} or ${whole}${rest}${sign}`);
  }
  if (DECIMAL_COMMA.test(text)) {
    const meant = text.replace(",", ".");
    const inHundred = isProbability && Number(meant) > 1 && Number(meant) <= 100;
    throw new Error(`'${text}${sign}' has a decimal comma: write ${meant}${inHundred ? "%" : sign}`);
  }
  const groups = GROUPS.exec(text);
  if (groups && (text.includes(",") || text.split(".").length > 2)) {
    const [, whole, , rest] = groups;
    throw new Error(`'${text}${sign}' has marks between thousands: write ${whole.replace(/[.,]/g, "")}${rest ? `.${rest}` : ""}${sign}`);
  }
  if (WITH_COMMAS.test(text)) throw new Error(`'${text}${sign}' is no number: its commas do not part thousands`);
}

const withoutPercent = (text) => ({ body: text.replace(/%$/, "").trimEnd(), percent: text.endsWith("%") });

// Makes a field one for a number: what is wrong with it is its validity, which a form asks for and `valueOf` too.
export function numeric(input, { where = "number", least = -Infinity, most = Infinity, whole = false } = {}) {
  Object.assign(input, { type: "text", inputMode: whole ? "numeric" : "decimal", autocomplete: "off" });
  input.check = () => {
    input.setCustomValidity("");
    if (input.value.trim() === "") return null;
    try {
      const value = readTyped(input.value, where);
      const shown = where === "percent" ? 100 * value : value;
      if (shown < least) throw new Error(`this must be at least ${least}`);
      if (shown > most) throw new Error(`this must be at most ${most}`);
      if (whole && !Number.isInteger(value)) throw new Error("a whole number is expected");
      return value;
    } catch (error) {
      input.setCustomValidity(error.message);
      return undefined;
    }
  };
  input.addEventListener("input", input.check);
  return input;
}

export const numberField = (props, rule) => numeric(el("input", props), rule);

// The number in such a field: null where it is empty, undefined where it is refused, which is told beside the field.
export function valueOf(input) {
  const value = input.check();
  if (value === undefined) input.reportValidity();
  return value;
}
