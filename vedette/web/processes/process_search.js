// Process search: narrowing by values, sorting, time steps, saving, keys of the focused row.

import { attempt, call, done, get, repeat } from "./api.js";
import { offerCalls, pageCall } from "./copy.js";
import "./facets.js";
import { startHistogram } from "./histogram.js";
import { focusRow } from "./grid.js";
import { bind } from "./keys.js";
import { iso, make, many, say, setParameter } from "./dom.js";
import { keepAll } from "./preferences.js";
import { openMenu } from "./menu.js";
import { narrowedQuery, recentQueries, startQuery, term } from "./query.js";
import { untrusted } from "./untrusted.js";

const form = document.getElementById("search");
const field = form.querySelector("[name=q]");

startQuery(field);
startHistogram(setRange);

document.addEventListener("narrow", (event) => {
  event.preventDefault();
  const { how, group } = event.detail;
  if (how === "group") form.elements.group.value = group;
  else field.value = narrowedQuery(field.value, event.detail);
  field.dispatchEvent(new Event("input"));
  form.requestSubmit();
});

document.addEventListener("click", (event) => {
  const sort = event.target.closest("[data-sort]");
  if (sort) {
    form.elements.sort.value = sort.dataset.sort;
    form.requestSubmit();
  }
  const following = event.target.closest("[data-action=follow]");
  if (following) follow(following.getAttribute("aria-pressed") !== "true");
  if (event.target.closest("[data-action=show-news]")) form.requestSubmit();
  const keeper = event.target.closest("[data-action=kept]");
  if (keeper) attempt(() => kept(keeper));
  const opener = event.target.closest("[data-arrange]");
  if (opener) arrange(opener);
});

document.addEventListener("change", ({ target }) => target.matches("select") && target.form === form && form.requestSubmit());

// Results receive the focus when they arrive, so that the next key acts on them.
let before = null;
form.addEventListener("submit", () => (before = document.getElementById("results")));
document.addEventListener("content", () => {
  const results = document.getElementById("results");
  if (!before || results === before) return;
  before = null;
  began();
  const row = results.querySelector("tr[data-row]");
  if (row && [field, document.body].includes(document.activeElement)) focusRow(row);
});
const focused = () => document.querySelector("tr[data-row]:focus, tr[data-row]:focus-within, tr.open");

bind("t", _("Analyze the selected process"), () => {
  const row = focused();
  if (row?.dataset.analysis) location.assign(row.dataset.analysis);
  return Boolean(row);
});

bind("A", _("This host, 5 minutes before and after"), () => {
  const row = focused();
  const ms = Number(row?.querySelector("time[data-time]")?.dataset.time);
  if (!ms) return false;
  const host = row.querySelector("[data-field=hostname]").dataset.value;
  const params = new URLSearchParams({ q: term("hostname", host), t: `${iso(ms - 300_000)}..${iso(ms + 300_000)}`, tf: "start", sort: "start asc" });
  location.assign(`/ui/process?${params}`);
  return true;
});

bind("F", _("Create ingress filter"), () => {
  const program = document.activeElement.closest("tr")?.querySelector("[data-program]")?.dataset.program;
  if (!program) return false; // of an event next to the list
  location.assign(`/ui/filters?${new URLSearchParams({ program })}`);
});

// Moves the time range back or forward by its length.
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
  const text = `${iso(since)}..${iso(until)}`;
  const select = form.elements.t;
  select.append(new Option(text.replace("..", _(" to ")), text, true, true));
  form.requestSubmit();
}

const chooser = document.getElementById("columns");

// Columns or facets: visibility and order, by buttons.
function arrange({ dataset: { arrange: what, items, keyLabel } }) {
  const list = chooser.querySelector("ul");
  chooser.dataset.what = what;
  chooser.querySelector("h2").textContent = keyLabel;
  const move = (item, by) => {
    const other = by < 0 ? item.previousElementSibling : item.nextElementSibling;
    if (other) list.insertBefore(by < 0 ? item : other, by < 0 ? other : item);
    item.querySelector(`[data-by="${by}"]`).focus();
    say(_`${item.textContent.slice(0, -2)}, ${[...list.children].indexOf(item) + 1} of ${list.children.length}`);
  };
  list.replaceChildren(...JSON.parse(items).map(([name, label, checked, disabled]) => {
    const item = make("li", { "data-column": name }, make("label", { class: "check" }, make("input", { type: "checkbox", checked, disabled }), label));
    for (const [by, word, symbol] of [[-1, "earlier", "↑"], [1, "later", "↓"]]) {
      item.append(make("button", { type: "button", class: "quiet", "data-by": by, "aria-label": `${label} ${word}`, onclick: () => move(item, by) }, symbol));
    }
    return item;
  }));
  chooser.showModal();
  list.querySelector("input").focus();
}

chooser.querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const items = [...event.target.querySelectorAll("li")];
  const names = (marked) => items.map((item) => marked(item.querySelector("input").checked, item.dataset.column)).filter(Boolean).join(" ");
  chooser.close();
  attempt(async () => {
    await keepAll(chooser.dataset.what === "facets" ? { facets: names((on, name) => (on ? name : `-${name}`)) } : { hidden: names((on, name) => !on && name), columns: names((_on, name) => name) });
    form.requestSubmit();
  });
});

// Saved searches, and the latest searches of this window.
async function kept(anchor) {
  const saved = (await get("/api/v1/saved_search")).filter(({ view }) => view === "process");
  const entries = saved.map(({ name, params }) => ({ label: untrusted(name, { short: true }), href: `/ui/process?${params}` }));
  const recent = recentQueries("process").slice(0, 9).map((q) => ({ label: untrusted(q, { short: true }), href: `/ui/process?${new URLSearchParams({ q })}` }));
  openMenu(anchor, [_("Saved"), ...entries, _("Recent"), ...recent, { label: _("Clear query"), href: "/ui/process" }]);
}

// Following: counts new results since the list was loaded, and shows them on request.
const FOLLOW_MS = 5_000;

async function news() {
  const button = document.querySelector("[data-action=follow]");
  if (!button || form.elements.follow.value !== "1") return;
  const since = form.dataset.since;
  const params = pageCall().params.filter(([name]) => !["rows", "start", "sort"].includes(name));
  const found = await get(`/api/v1/process?${new URLSearchParams([...params, ["rows", 0], ["svc.min_last_server_update", since]])}`);
  if (since !== form.dataset.since || !found.total_results) return;
  document.getElementById("news").replaceChildren(make("button", { type: "button", "data-action": "show-news" }, _`Show ${many(found.total_results, _("process"), _("processes"))} (new or changed)`));
}

function follow(on) {
  form.elements.follow.value = on ? "1" : "";
  setParameter("follow", on && "1");
  began(on);
}

// Restarts following; the button of a newly loaded list shows whether it is followed.
function began(on = form.elements.follow.value === "1") {
  form.dataset.since = document.getElementById("results").dataset.asOf ?? form.dataset.since;
  document.getElementById("news").replaceChildren();
  document.querySelector("[data-action=follow]")?.setAttribute("aria-pressed", on);
}

began();
repeat(news, FOLLOW_MS);

bind("[", _("Earlier time range"), () => shift(-1));
bind("]", _("Later time range"), () => shift(1));

const saving = document.getElementById("save-search-form");
const toSave = () => {
  const { name, shared } = saving.elements;
  return ["POST", "/api/v1/saved_search", { name: name.value, view: "process", params: location.search.slice(1), shared: shared.checked }];
};
offerCalls(saving, () => [toSave()]);
saving.addEventListener("submit", (event) => {
  event.preventDefault();
  const sent = toSave();
  attempt(async () => {
    const kept = await call(...sent);
    saving.closest("dialog").close();
    done(_`Search “${sent[2].name}” saved`, () => call("DELETE", `/api/v1/saved_search/${kept.id}`));
  });
});
