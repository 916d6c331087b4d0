// Small helpers that every view uses: elements, numbers as people read them, and the server.

import { askForKey, withKey } from "./key.js";

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, part] of Object.entries(value)) node.style.setProperty(key, part);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "open") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}

// What stands beside a first action: the next best and how far behind it is, in the server's words; and where a learned
// model has a second opinion that would end the case otherwise, that.
export const beside = ({ beside: words, about_as_good: near, second }) =>
  el("div", {}, el("p", { class: near ? "beside near" : "beside quiet", "data-near": near }, sentence(words)),
    second?.disagrees ? el("p", { class: "beside near", "data-second": "" }, sentence(second.words)) : "");

export class Refusal extends Error {
  constructor(error, status) {
    super(error.message);
    Object.assign(this, { field: error.field, line: error.line, limit: error.limit, status });
  }
}

// What the server says at an address of its API; `raw` for the text as it came. A file is sent as it is, as CSV.
export async function ask(path, body, { signal, raw, method } = {}) {
  const reply = await fetchFrom(path, body, signal, method);
  return raw ? reply.text() : reply.json();
}

async function fetchFrom(path, body, signal, method) {
  const file = body instanceof Blob;
  const options = body === undefined ? { method } : {
    method: "POST", headers: { "content-type": file ? "text/csv" : "application/json" }, body: file ? body : JSON.stringify(body),
  };
  let reply;
  try {
    reply = await fetch(`/api/v1/${path}`, { ...options, headers: withKey(options.headers), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal({ message: "The server does not answer; is rhoplan serve still running?" }, 0);
  }
  if (reply.ok) return reply;
  if (reply.status === 401 && (await askForKey())) return fetchFrom(path, body, signal, method);
  const data = await reply.json();
  throw new Refusal(data.error ?? { message: reply.statusText }, reply.status);
}

// The parts of advice, each as soon as the server has worked it out.
export async function* parts(body, { signal } = {}) {
  for await (const part of lines("advise/parts", body, { signal })) {
    if (part.part === "end") return;
    yield part;
  }
}

// What a stream says, line by line; to stop reading is to stop the work.
export async function* lines(path, body, { signal } = {}) {
  const reply = await fetchFrom(path, body, signal);
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (text + value).split("\n");
    text = whole.pop();
    for (const line of whole) yield JSON.parse(line);
  }
}

// One part, or a refusal where it cannot be had.
export async function onePart(body, name, { signal } = {}) {
  const { value } = await parts({ ...body, parts: [name] }, { signal }).next();
  if (value.kind === "missing") throw new Refusal({ message: sentence(value.words) });
  return value;
}

const sentence = (words) => `${words[0].toUpperCase()}${words.slice(1)}.`;

// What kind of answer a part is: exact, bounded, estimated; and that in words where there are any.
export const kindOf = ({ kind, words }) =>
  el("p", { class: "kind quiet", "data-kind": kind }, el("b", {}, kind), words ? ` ${words}.` : null);

const underWay = new Set();

// Give up whatever the server is asked for.
export function stopAll() {
  for (const one of underWay) one.abort();
  underWay.clear();
}

// Runs only the latest of several calls: earlier ones are given up.
export function latest(work) {
  let running;
  return async (...args) => {
    running?.abort();
    underWay.delete(running);
    const mine = (running = new AbortController());
    underWay.add(mine);
    try {
      return await work(mine.signal, ...args);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      return undefined;
    }
  };
}

export function later(milliseconds, work) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), milliseconds);
  };
}

// Only 0 reads 0% and only 1 reads 100%: near them there are two digits that matter.
export function percent(share) {
  if (share === null || share === undefined) return "–";
  const away = Math.min(share, 1 - share);
  if (away < 1e-11) return share > 0.5 ? "100%" : "0%";
  const digits = away >= 0.0995 ? 0 : away >= 0.00995 ? 1 : Math.min(9, 1 - Math.floor(Math.log10(100 * away)));
  const text = (100 * share).toFixed(digits);
  return `${digits === 1 ? text.replace(/\.0$/, "") : text}%`;
}

// Shares of one whole, as percentages that add up to 100% as they are printed, where that takes few digits.
export function percents(shares) {
  const told = shares.map(percent);
  const digits = Math.max(0, ...told.map((text) => (text.split(".")[1] ?? "%").length - 1));
  const sum = shares.reduce((all, share) => all + share, 0);
  if (Math.abs(sum - 1) > 1e-9 || told.includes("100%") || (told.length > 2 && digits > 3)) return told;
  const whole = 10 ** (digits + 2);
  const units = shares.map((share) => Math.floor(share * whole + 1e-6));
  const left = shares.map((share, i) => share * whole - units[i]);
  const order = [...left.keys()].sort((a, b) => left[b] - left[a] || a - b);
  for (const i of order.slice(0, whole - units.reduce((all, unit) => all + unit, 0))) units[i] += 1;
  return units.map((unit) => (unit ? `${((100 * unit) / whole).toFixed(digits)}%` : "0%"));
}

// How many of a thousand cases; one in so many where they are fewer than one.
export function thousand(share) {
  const count = 1000 * share;
  if (count > 0 && count < 1) return `1 in ${Number((1 / share).toPrecision(2)).toLocaleString("en")}`;
  const digits = count < 10 || 1000 - count < 10 ? 1 : 0;
  return count.toLocaleString("en", { maximumFractionDigits: digits });
}

export function counted(value, what) {
  const text = number(value, 1);
  return `${text} ${what}${text === "1" ? "" : "s"}`;
}

// A number with the digits that matter: whole ones without decimals, others with as many as asked for, and amounts
// below one with three that are not zero.
export function number(value, digits = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 10 ** -digits / 2)) return minus(Number(value.toPrecision(3)).toString());
  if (digits === 2 && size !== 0 && size < 1) return minus(value.toPrecision(3).replace(/(\.\d\d\d*?)0+$/, "$1"));
  const most = size >= 10000 ? 0 : digits;
  const cents = digits === 2 && Math.abs(value - Math.round(value)) > 1e-9 ? most : 0;
  return minus(value.toLocaleString("en", { minimumFractionDigits: cents, maximumFractionDigits: most }));
}

// A number with its unit: 1 minute, 2 minutes, 1 EUR.
export function amount(value, unit) {
  const text = number(value);
  return `${text} ${/^[−]?1$/.test(text) && /^[a-z]{2,}[^siu]s$/.test(unit) ? unit.slice(0, -1) : unit}`;
}

// The same number of decimals in every row of a column.
export function fixed(value, digits = 2) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const shown = digits && Math.abs(value) >= 1e5 ? 0 : digits;
  const text = value.toLocaleString("en", { minimumFractionDigits: shown, maximumFractionDigits: shown });
  return minus(/^-[0.,]*$/.test(text) ? text.slice(1) : text);
}

// Decimals for a column, so that its largest number shows two digits that matter at least.
export function decimals(values, least = 2) {
  const largest = Math.max(...values.map(Math.abs));
  return largest > 0 ? Math.min(12, Math.max(least, 1 - Math.floor(Math.log10(largest)))) : least;
}

export const plus = (value, digits = 2) => (value > 0 ? `+${fixed(value, digits)}` : fixed(value, digits));

export function signed(value, digits = 2) {
  return value > 0 ? `+${number(value, digits)}` : number(value, digits);
}

const minus = (text) => text.replace("-", "−");

export function bar(share, name) {
  return el("div", { class: `bar ${name ?? ""}` }, el("div", { class: "fill", style: { width: `${100 * share}%` } }));
}

export function beliefBars(belief, { most = 12, name = "" } = {}) {
  const states = Object.entries(belief);
  const ranked = states.length > most ? [...states].sort((a, b) => b[1] - a[1]) : states;
  const rest = ranked.slice(most);
  const shown = rest.length ? [...ranked.slice(0, most), [`${rest.length} more`, rest.reduce((sum, [, part]) => sum + part, 0)]] : ranked;
  const told = percents(shown.map(([, share]) => share));
  return el("ul", { class: "belief" }, shown.map(([state, share], i) => el("li", i < most ? {} : { class: "quiet" },
    el("span", { class: "state" }, state), bar(share, i < most ? name : ""), el("span", { class: "number" }, told[i]))));
}

// The largest of named shares, and the rest together.
export function few(shares, most) {
  const ranked = [...shares].sort((a, b) => b[1] - a[1]);
  const rest = ranked.slice(most - 1);
  if (rest.length <= 1) return ranked;
  return [...ranked.slice(0, most - 1), [`${rest.length} others`, rest.reduce((sum, [, share]) => sum + share, 0)]];
}

export function download(name, text, type = "text/plain") {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// What stands where something is still to come, with a way to stop it.
export const working = (stop, text = "Planning …") => el("p", { class: "working row wrap", role: "status" }, el("span", {}, text),
  stop ? el("button", { type: "button", class: "small", "data-cancel": "", onclick: stop }, "Cancel") : null);

export const stopped = (again) => el("p", { class: "working row wrap", role: "status" }, el("span", {}, "This was not worked out."),
  el("button", { type: "button", class: "small", "data-again": "", onclick: again }, "Try again"));
