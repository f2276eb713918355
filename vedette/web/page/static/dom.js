// Creates elements without markup: make("tr", {class: "open", "data-id": id}, child, "text").

const SPRITE = new URL("icons.svg", import.meta.url).pathname;

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value == null) continue;
    if (name === "onclick") element.addEventListener("click", value);
    else if (name === "style") throw new Error("styles are set by CSSOM");
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((one) => one != null && one !== false));
  return element;
}

export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", `icon i-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(space, "use");
  use.setAttribute("href", `${SPRITE}#${name}`);
  svg.append(use);
  return svg;
}

export function number(value) {
  return value == null ? "–" : String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u2009");
}

export const many = (count, one, more) => `${number(count)} ${count === 1 ? one : more}`;

export const iso = (ms) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");

// The view's parameters are in the address, which is updated when the view changes.
export const parameter = (name) => new URL(location.href).searchParams.get(name) ?? "";

export function setParameter(name, value) {
  const url = new URL(location.href);
  if (value) url.searchParams.set(name, value);
  else url.searchParams.delete(name);
  if (url.href !== location.href) history.replaceState(history.state, "", url);
}

// Saves bytes as a file.
export function saveAs(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Announces text to screen readers, once.
export function say(text) {
  const place = document.getElementById("said");
  if (place) place.textContent = text;
}

// In a text field, letters are text instead of keys.
export function isTyping(target) {
  return target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]") !== null;
}

export const meta = (name) => document.querySelector(`meta[name="${name}"]`)?.content ?? "";
