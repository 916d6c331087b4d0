// A model made in a form.
import { el } from "./dom.js";
export async function showNew() { return { content: el("p", {}, "") }; }
