// Preferences of the reader: theme, density, time zone, language, single keys, hidden columns.

import { call, get } from "./api.js";

const NAME = "vedette.preferences";
const DEFAULTS = { theme: "system", density: "default", zone: "utc", keys: true, hidden: "", columns: "", facets: "", language: "", start: "", visit: "", flyout: 30, tree: 38 };

let known = read();

function read() {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(NAME) ?? "{}") };
  } catch {
    return { ...DEFAULTS };
  }
}

export const preference = (name) => known[name];

export function keep(values) {
  known = { ...known, ...values };
  localStorage.setItem(NAME, JSON.stringify(known));
  apply();
}

export function prefer(name, value) {
  keep({ [name]: value });
  document.dispatchEvent(new CustomEvent("preference", { detail: { name, value } }));
}

// Stores several at once; resolves when the server has stored them.
export async function keepAll(values) {
  keep(values);
  await call("PUT", "/api/v1/me/preferences", known);
}

// Applies the preferences stored on the server, unless the reader changed one during the request.
export async function adoptKept() {
  const before = known;
  const kept = await get("/api/v1/me/preferences");
  if (known === before) keep(Object.fromEntries(Object.keys(DEFAULTS).filter((name) => name in kept).map((name) => [name, kept[name]])));
  return kept;
}

export const all = () => known;

function apply() {
  const root = document.documentElement;
  for (const name of ["theme", "density", "hidden", "zone"]) root.dataset[name] = known[name];
  for (const [name, unit] of [["flyout", "rem"], ["tree", "%"]]) root.style.setProperty(`--${name}`, Number(known[name]) + unit);
  if (known.language) document.cookie = `language=${encodeURIComponent(known.language)};path=/ui;max-age=31536000;secure;samesite=strict`; // language of server-rendered pages
  document.dispatchEvent(new Event("look")); // drawn content changes colors or time zone
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
apply();
