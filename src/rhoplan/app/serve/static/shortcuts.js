// The keys for results. The rule is the same as in the terminal: see rhoplan.advice.shortcuts.

const LETTERS = [..."abcefghijklmopqtvxyz"]; // those that are no keys of the page or of a carried plan
const NUMBER = /^[-+−]?[0-9]+([.,][0-9]+)?$/;

// A shortcut for each outcome; `others` are further names that can be entered at this point.
export function shortcuts(outcomes, others = []) {
  const names = [...outcomes, ...others].map((name) => name.trim().toLowerCase());
  if (!names.some((name) => NUMBER.test(name))) return outcomes.map((_, i) => String(i + 1));
  const letters = LETTERS.filter((letter) => !names.includes(letter));
  return outcomes.map((_, i) => letters[i] ?? "");
}

// A shortcut of one character is a key; a number of two digits is none.
export const isKey = (shortcut) => shortcut.length === 1;
