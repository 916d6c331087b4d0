// What the page knows: the model, the case so far and how advice is asked for. Views read it and ask for a redraw.

export const state = {
  catalogue: null,
  model: null,
  start: { prior: null, known: [] }, // what is the case's own at the start: see start.js
  entries: [],      // what was done, in order: see `entryOf`
  agent: {},        // who advises: weight, horizon, discount and utility where they are not the model's own
  teach: false,
  prediction: null, // what the person would do, while the advice is hidden
  whole: false,     // whether the pathway is drawn from the start instead of from here
  tab: "Case",
  keys: {},         // what each key does on the current screen
};

export const given = () => state.entries.filter((one) => one.outcome !== undefined).map((one) => [one.test, one.outcome]);
export const unavailable = () => state.entries.filter((one) => one.unavailable !== undefined).map((one) => one.unavailable);
export const ending = () => (state.entries.at(-1)?.commit === undefined ? null : state.entries.at(-1));
export const weight = () => state.agent.weight ?? state.model.price ?? 0;

// An entry: a result (test, outcome), a test that cannot be had (unavailable) or a commit, with the advice it followed,
// who gave it, what it cost, how the belief moved, and why the person did something else.
export function entryOf(said, advice, more = {}) {
  const kept = state.catalogue.settings.filter((setting) => setting.kept).map(({ name }) => [name, advice[name]]);
  return { ...said, why: "", agent: { name: advice.agent, ...Object.fromEntries(kept) }, ...more };
}

export const did = (entry) => entry.test ?? entry.unavailable ?? entry.commit;
export const overrides = (entry) => entry.unavailable === undefined && did(entry) !== entry.advised;

export function question(more = {}) {
  return { problem: state.model.problem, agent: weight() ? "planning-ig" : "planning", ...state.agent, weight: weight(), ...more };
}

// What the numbers of commits are called in this model: "loss" or "reward".
export const stake = () => state.model.stake;

export const isCase = () => state.model.flat && !state.model.grid;

// A case outlives a reload, and a look at another model, as long as this tab is open.
const kept = () => `case of ${state.model.problem}`;

export function remember() {
  const { entries, agent, model, start } = state;
  try {
    sessionStorage.setItem(kept(), JSON.stringify({ entries, agent, start, digest: model.digest }));
  } catch { /* a browser without storage forgets the case */ }
}

export function recall() {
  Object.assign(state, { start: { prior: null, known: [] }, entries: [], agent: {}, prediction: null, whole: false });
  try {
    const found = JSON.parse(sessionStorage.getItem(kept()));
    if (found && found.digest === state.model.digest) Object.assign(state, { entries: found.entries, agent: found.agent, start: found.start ?? state.start });
  } catch { /* nothing was kept, or not by this page */ }
}

export function freshCase() {
  Object.assign(state, { start: { prior: null, known: [] }, entries: [], prediction: null });
  remember();
}

export function weightLimit() {
  const wide = Math.max(state.model.reward_scale / 10, 10);
  const size = 10 ** Math.floor(Math.log10(wide));
  return Math.ceil(wide / size) * size;
}
