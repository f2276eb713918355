// Lists with focusable rows: <table data-grid> with <tr data-row tabindex=-1>. A row opens its
// flyout (data-flyout) or its link (a[data-open]). Cells with data-field and data-value can be
// included, excluded and copied. In a list with data-select, rows can be selected.

import { isTyping, say } from "./dom.js";
import { isOpen, openFlyout } from "./flyout.js";
import { copyText, copies } from "./copy.js";
import { openMenu } from "./menu.js";
import { openOmnibox } from "./omnibox.js";
import { preference } from "./preferences.js";
import { narrowedQuery } from "./query.js";

const everyRow = (grid) => [...grid.querySelectorAll("tr[data-row]")]; // including folded ones
const rowsOf = (grid) => everyRow(grid).filter((row) => !row.hidden);
const cellsOf = (row) => [...row.querySelectorAll("td")];

export function focusRow(row, { cell = null } = {}) {
  const grid = row.closest("[data-grid]");
  for (const one of grid.querySelectorAll("[tabindex='0']")) one.tabIndex = -1;
  const target = cell ?? row;
  target.tabIndex = 0;
  target.focus();
  target.scrollIntoView({ block: "nearest" });
  if (!cell) say(row.getAttribute("aria-label") ?? "");
}

function step(row, by, extend) {
  const rows = rowsOf(row.closest("[data-grid]"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, rows.indexOf(row) + by))];
  if (extend && next !== row) {
    select(row, true);
    select(next, true);
  }
  const cell = document.activeElement.closest("td");
  focusRow(next, { cell: cell ? cellsOf(next)[cellsOf(row).indexOf(cell)] : null });
  if (isOpen() && next.dataset.flyout) openFlyout(next, { focus: false });
}

export function select(row, on = !isSelected(row)) {
  if (!row.closest("[data-select]")) return;
  choose(row, on);
  changed(row.closest("[data-grid]"));
}

export const isSelected = (row) => row.getAttribute("aria-selected") === "true";

export function choose(row, on) {
  row.setAttribute("aria-selected", on);
  for (const box of row.querySelectorAll("[type=checkbox]")) box.checked = on;
}

const changed = (grid) => grid.dispatchEvent(new CustomEvent("selection", { bubbles: true, detail: { ids: selected(grid), all: grid.dataset.all === "true" } }));

export const selected = (grid) => everyRow(grid).filter(isSelected).map((row) => row.dataset.row);

// Rows deselected after "select all matches".
export const leftOut = (grid) => (grid.dataset.all === "true" ? everyRow(grid).filter((row) => !isSelected(row)).map((row) => row.dataset.row) : []);

// Selects all loaded rows; the second time all matches, which the screen reads from data-all.
function selectAll(grid) {
  const rows = rowsOf(grid);
  const already = rows.length && rows.every(isSelected);
  grid.dataset.all = String(Boolean(already));
  for (const row of everyRow(grid)) choose(row, true);
  changed(grid);
}

function openRow(row) {
  if (row.dataset.flyout) openFlyout(row);
  else row.querySelector("a[data-open]")?.click();
}

// The groupings of an element's list, by field; null if cells do not narrow its query.
const groupsOf = (element) => JSON.parse(element.closest("[data-narrows]")?.dataset.narrows ?? "null");

// Narrows by a value, or groups by its field. A screen that does not use its address for this
// listens for "narrow" with field, value and how.
export function narrow(element, how) {
  const { field, value } = element.dataset;
  const groups = groupsOf(element);
  if (!groups || !field || value === undefined) return;
  const detail = { field, value, how, group: groups[field] };
  if (!element.dispatchEvent(new CustomEvent("narrow", { bubbles: true, cancelable: true, detail }))) return;
  const url = new URL(location.href);
  if (how === "group") url.searchParams.set("by", detail.group);
  else url.searchParams.set("q", narrowedQuery(document.querySelector("[data-query]").defaultValue, detail));
  for (const name of ["d", "start"]) url.searchParams.delete(name);
  location.assign(url);
}

function cellMenu(row, cell) {
  const entries = [];
  const { field, value } = cell?.dataset ?? {};
  const groups = field && groupsOf(cell);
  if (field) entries.push(field);
  if (groups) {
    for (const [how, key, label] of [["include", "+", _("Include")], ["exclude", "-", _("Exclude")], ["only", "o", _("Only this")], ["group", "G", _("Group by")]]) {
      if (how !== "group" || groups[field]) entries.push({ label, key, act: () => narrow(cell, how) });
    }
  }
  if (value) entries.push(...valueEntries(value));
  if (row.dataset.flyout) entries.push({ label: _("Open in the details panel"), key: "Enter", act: () => openRow(row) });
  for (const link of row.querySelectorAll("a[data-open]")) entries.push({ label: link.dataset.label ?? _("Open"), href: link.getAttribute("href") });
  if (entries.length) openMenu(cell ?? row, entries);
}

// Actions for any value on any page.
const valueEntries = (value) => [...copies(value, "c"), { label: _("Look up"), key: "l", act: () => openOmnibox(value) }];

function page(grid, rel) {
  grid.closest("[data-list]")?.querySelector(`a[rel="${rel}"]`)?.click();
}

function onKey(event) {
  const row = event.target.closest?.("tr[data-row]");
  if (!row || isTyping(event.target) || event.altKey) return;
  const cell = event.target.closest("td");
  const grid = row.closest("[data-grid]");
  const key = event.key;
  const main = cell ?? row.querySelector("td[data-main]") ?? row; // main cell of the row
  const on = {
    ArrowDown: () => step(row, 1, event.shiftKey), ArrowUp: () => step(row, -1, event.shiftKey),
    j: () => step(row, 1), k: () => step(row, -1), PageDown: () => step(row, 20), PageUp: () => step(row, -20),
    Home: () => step(row, -1e6), End: () => step(row, 1e6),
    ArrowRight: () => focusRow(row, { cell: cellsOf(row)[cell ? Math.min(cellsOf(row).indexOf(cell) + 1, cellsOf(row).length - 1) : 0] }),
    ArrowLeft: () => focusRow(row, { cell: cell && cellsOf(row).indexOf(cell) > 0 ? cellsOf(row)[cellsOf(row).indexOf(cell) - 1] : null }),
    x: () => select(row), " ": () => select(row),
    "+": () => narrow(main, "include"), "-": () => narrow(main, "exclude"), o: () => narrow(main, "only"),
    c: () => cell?.dataset.value !== undefined && copyText(cell.dataset.value, _("Value copied")),
    ".": () => cellMenu(row, cell), F10: () => event.shiftKey && cellMenu(row, cell), ContextMenu: () => cellMenu(row, cell),
    ">": () => page(grid, "next"), "<": () => page(grid, "prev"),
  };
  const inControl = event.target.closest("a, button, input");
  if (key === "Enter") {
    if (inControl) return;
    openRow(row);
  } else if (event.ctrlKey || event.metaKey) {
    if (key !== "a" || !grid.hasAttribute("data-select")) return;
    selectAll(grid);
  } else if (on[key] && !(inControl && key === " ")) {
    if (key.length === 1 && key !== " " && !preference("keys") && !cell && !row.matches(":focus")) return;
    on[key]();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}

function onClick(event) {
  const every = event.target.closest("[data-select-all]");
  if (every) {
    selectAll(every.closest("[data-grid]"));
    event.preventDefault();
  }
  const row = event.target.closest("tr[data-row]");
  if (!row || event.target.closest("a, button, label")) return;
  if (event.target.matches("input[type=checkbox]")) {
    select(row, event.target.checked);
    return;
  }
  if (getSelection().toString()) return;
  focusRow(row);
  if (row.dataset.flyout) openFlyout(row, { focus: false });
}

// Makes a row of each list reachable by Tab after new content arrives.
export function prepareGrids(root = document) {
  for (const grid of root.querySelectorAll("[data-grid]")) {
    const rows = rowsOf(grid);
    if (rows.length && !grid.querySelector("tr[tabindex='0'], td[tabindex='0']")) rows[0].tabIndex = 0;
  }
}

export function startGrids() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-narrow]");
    if (button) narrow(button.closest("[data-field]"), button.dataset.narrow);
  });
  prepareGrids();
}
