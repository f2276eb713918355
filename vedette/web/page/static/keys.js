// Keys. An element declares the key that presses it: data-key="w", or data-chord="g p" for two keys
// in sequence. Single keys act only outside of text fields, and not at all if the reader disabled
// them.

import { isTyping, make } from "./dom.js";
import { preference, prefer } from "./preferences.js";

const bound = new Map(); // key → {label, act, always}
let first = "";
let clearing = 0;

// Binds a key for a module: bind("Ctrl+k", "Look anything up", open). Ctrl combinations and arrows
// do not count as single keys.
export function bind(key, label, act) {
  bound.set(key, { label, act });
}

export function name(event) {
  const base = event.key === " " ? "Space" : event.key;
  const control = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  const shift = event.shiftKey && base.length > 1 ? "Shift+" : "";
  return control + shift + (base.length === 1 && control ? base.toLowerCase() : base);
}

const isSingle = (key) => key.length === 1;

// The topmost layer receives keys: an open dialog, then the flyout, then the page.
function visible(name, key) {
  const dialog = document.querySelector("dialog[open]");
  const found = [...(dialog ?? document).querySelectorAll(`[data-${name}]`)].filter(
    (one) => one.dataset[name] === key && one.checkVisibility(),
  );
  const row = document.activeElement?.closest("tr, li");
  return found.find((one) => row?.contains(one)) ?? found.find((one) => one.closest("#flyout")) ?? found[0];
}

function press(element) {
  if (element.matches("input:not([type=checkbox]), textarea, select") || element.dataset.keyFocus !== undefined) {
    element.focus();
    element.select?.();
  } else {
    element.click();
  }
}

function onKey(event) {
  if (event.defaultPrevented || event.isComposing || event.altKey) return;
  const key = name(event);
  if (key === "Ctrl+Enter") {
    const form = event.target.closest?.("form") ?? document.querySelector("dialog[open] form:not([method=dialog])");
    if (form?.querySelector("[data-save]:disabled")) event.preventDefault(); // not checked yet
    else if (form && (form.closest("dialog") || form.matches("[data-submit]"))) {
      event.preventDefault();
      form.requestSubmit();
    }
    return;
  }
  const typing = isTyping(event.target);
  if (isSingle(key) && (typing || !preference("keys"))) return;
  if (typing && !key.startsWith("Ctrl+") && !/^(F\d+|Escape)$/.test(key)) return;
  if (first) {
    const chord = `${first} ${key}`;
    first = "";
    const target = visible("chord", chord);
    if (target) {
      event.preventDefault();
      press(target);
      return;
    }
    if (bound.has(chord)) {
      event.preventDefault();
      bound.get(chord).act(event);
    }
    return;
  }
  if (key === "g" && !document.querySelector("dialog[open]")) {
    first = "g";
    clearTimeout(clearing);
    clearing = setTimeout(() => (first = ""), 1500);
    event.preventDefault();
    return;
  }
  const own = bound.get(key);
  if (own && own.act(event) !== false) {
    event.preventDefault();
    return;
  }
  const target = visible("key", key);
  if (target) {
    event.preventDefault();
    press(target);
  }
}

const EVERYWHERE = [
  ["Ctrl+Enter", _("Submit the form")],
  ["Esc", _("Close and go back")],
];
const LISTS = [
  ["j k ↑ ↓", _("Next or previous row")],
  ["Enter", _("Open the row")],
  ["x Space", _("Select the row")],
  ["Shift+↑ ↓", _("Select a range")],
  ["Ctrl+A", _("Select all rows; press again for all matches")],
  ["← →", _("Move between cells")],
  ["+ − o", _("On a cell: include, exclude, only this")],
  ["c", _("Copy the cell")],
  [". Shift+F10", _("Actions for the row or cell")],
  ["< >", _("Previous or next page")],
];

function sections() {
  const labelled = (selector, attribute) =>
    [...document.querySelectorAll(selector)]
      .filter((one) => !one.closest("dialog"))
      .map((one) => [one.getAttribute(attribute), one.dataset.keyLabel ?? one.getAttribute("aria-label") ?? one.textContent.trim()]);
  const own = [...bound].map(([key, { label }]) => [key, label]).filter(([, label]) => label);
  const here = labelled("[data-key]", "data-key");
  return [
    [_("This screen"), dedupe([...here, ...own])],
    [_("Go to"), labelled("[data-chord]", "data-chord")],
    ...(document.querySelector("[data-grid]") ? [[_("Lists"), LISTS]] : []),
    [_("Everywhere"), EVERYWHERE],
  ];
}

const dedupe = (rows) => [...new Map(rows.map((row) => [row[0], row])).values()];

function fill(wanted) {
  const list = document.getElementById("help-list");
  list.replaceChildren(
    ...sections().map(([title, rows]) => {
      const fitting = rows.filter(([key, label]) => `${key} ${label}`.toLowerCase().includes(wanted));
      if (!fitting.length) return "";
      const pairs = fitting.flatMap(([key, label]) => [make("dt", {}, label), make("dd", {}, make("kbd", {}, key))]);
      return make("section", {}, make("h3", {}, title), make("dl", {}, ...pairs));
    }),
  );
}

export function help() {
  const dialog = document.getElementById("help");
  const single = document.getElementById("single-keys");
  const search = document.getElementById("help-search");
  single.checked = preference("keys");
  search.value = "";
  fill("");
  dialog.showModal();
  search.focus();
}

export function startKeys() {
  document.addEventListener("keydown", onKey);
  document.getElementById("help-search")?.addEventListener("input", (event) => fill(event.target.value.toLowerCase()));
  document.getElementById("single-keys")?.addEventListener("change", (event) => prefer("keys", event.target.checked));
}
