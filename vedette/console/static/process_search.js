// Process search: narrowing by values, sorting, time steps, saving, keys of the focused row.

import { attempt, call, done } from "./api.js";
import { startHistogram } from "./histogram.js";
import { bind } from "./keys.js";
import { isTyping } from "./dom.js";
import { narrowedQuery, startQuery, term } from "./query.js";

const form = document.getElementById("search");
const field = form.querySelector("[name=q]");

startQuery(field);
startHistogram(setRange);

document.addEventListener("narrow", (event) => {
  field.value = narrowedQuery(field.value, event.detail);
  field.dispatchEvent(new Event("input"));
  form.requestSubmit();
});

document.addEventListener("click", (event) => {
  const sort = event.target.closest("[data-sort]");
  if (sort) {
    form.elements.sort.value = sort.dataset.sort;
    form.requestSubmit();
  }
  const toggle = event.target.closest("[data-action=toggle-facets]");
  if (toggle) {
    const on = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", String(on));
    document.getElementById("facets").hidden = !on;
  }
  const rare = event.target.closest("[data-rare]");
  if (rare) rare.setAttribute("aria-pressed", "true");
});

form.elements.t.addEventListener("change", () => form.requestSubmit());
form.elements.tf.addEventListener("change", () => form.requestSubmit());

// In the facets, letters act on the value that has the focus.
document.addEventListener("keydown", (event) => {
  const value = event.target.closest?.(".facet [data-field]");
  if (!value || isTyping(event.target)) return;
  const how = { "+": "include", "-": "exclude", o: "only" }[event.key];
  if (how) value.querySelector(`[data-narrow=${how}]`).click();
  else if (event.key === "r") value.closest(".facet").querySelector("[data-rare]").click();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const all = [...document.querySelectorAll(".facet [data-field]")];
    const next = all[all.indexOf(value) + (event.key === "ArrowDown" ? 1 : -1)];
    next?.querySelector("button").focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
});

const focused = () => document.querySelector("tr[data-row]:focus, tr[data-row]:focus-within, tr.open");

bind("t", "Analyse the process of the row", () => {
  const row = focused();
  if (row?.dataset.analysis) location.assign(row.dataset.analysis);
  return Boolean(row);
});

bind("e", "This host five minutes around", () => {
  const row = focused();
  const ms = Number(row?.querySelector("time[data-time]")?.dataset.time);
  if (!ms) return false;
  const iso = (at) => new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  const host = row.querySelector("[data-field=hostname]").dataset.value;
  const params = new URLSearchParams({ q: term("hostname", host), t: `${iso(ms - 300_000)}..${iso(ms + 300_000)}`, tf: "start", sort: "start asc" });
  location.assign(`/ui/process?${params}`);
  return true;
});

// One range earlier or later.
function shift(by) {
  const now = Date.now();
  const text = form.elements.t.value;
  const match = /^-(\d+)([mhd])$/.exec(text);
  let since;
  let until;
  if (match) {
    const size = { m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2]] * Number(match[1]);
    [since, until] = [now - size, now];
  } else if (text.includes("..")) {
    [since, until] = text.split("..").map((one) => Date.parse(one));
  }
  if (!since || !until) return false;
  const size = until - since;
  setRange(since + by * size, until + by * size);
  return true;
}

function setRange(since, until) {
  const iso = (at) => new Date(at).toISOString().replace(/\.\d+Z$/, "Z");
  const text = `${iso(since)}..${iso(until)}`;
  const select = form.elements.t;
  select.append(new Option(text.replace("..", " to "), text, true, true));
  form.requestSubmit();
}

bind("[", "Earlier time range", () => shift(-1));
bind("]", "Later time range", () => shift(1));

document.getElementById("save-search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const fields = new FormData(event.target);
  const params = new URL(location.href).searchParams;
  attempt(async () => {
    const kept = await call("POST", "/api/v1/saved_search", {
      name: fields.get("name"), view: "process", params: params.toString(), shared: fields.get("shared") === "on",
    });
    event.target.closest("dialog").close();
    done(`Search “${fields.get("name")}” is saved`, () => call("DELETE", `/api/v1/saved_search/${kept.id}`));
  });
});
