// What the page knows: the model, the case so far and how advice is asked for. Views read it and ask for a redraw.

export const state = {
  catalogue: null,
  model: null,
  given: [],        // pairs of test and outcome
  steps: [],        // one per pair: what it cost, how the belief moved, what had been advised
  unavailable: [],
  closed: null,     // what the case ended with
  weight: 1,
  horizon: null,
  teach: false,
  prediction: null, // what the person would do, while the advice is hidden
  tab: "Case",
  keys: {},         // what each key does on the current screen
};

export function freshCase() {
  Object.assign(state, { given: [], steps: [], unavailable: [], closed: null, prediction: null });
}

export function question(more = {}) {
  return { problem: state.model.problem, agent: "planning-ig", weight: state.weight,
    ...(state.horizon ? { horizon: state.horizon } : {}), ...more };
}

export const isCase = () => state.model.flat && !state.model.grid;

export function weightLimit() {
  const wide = Math.max(state.model.reward_scale / 10, 10);
  const size = 10 ** Math.floor(Math.log10(wide));
  return Math.ceil(wide / size) * size;
}
