// The alert queue: counts the selected alerts, changes exactly those, and offers undo.

import { attempt, call, done } from "./api.js";
import { openDialog } from "./app.js";
import { offerCalls } from "./copy.js";
import { many, meta, number, parameter, setParameter } from "./dom.js";
import { openFlyout } from "./flyout.js";
import { choose, focusRow, isSelected, leftOut, select, selected } from "./grid.js";
import { bind } from "./keys.js";
import { adoptKept, prefer } from "./preferences.js";

const grid = document.querySelector("table.queue");
const dialog = document.getElementById("triage");
const form = dialog?.querySelector("form");
const WORDS = { Resolved: _("Resolve "), "False Positive": _("Close as false positive "), "In Progress": _("Assign to me: "), Unresolved: _("Reopen "), "": _("Add a note to ") };
const DONE = { Resolved: _("resolved"), "False Positive": _("false positive"), "In Progress": _("in progress"), Unresolved: _("reopened") };
let last = null;
let pending = null;

const alertRows = () => [...grid.querySelectorAll("tr[data-row]:not(.group)")].filter((row) => row.isConnected);
const section = (row) => row.closest("tbody").dataset.section;
const groupRows = () => [...grid.querySelectorAll("tr.group")];
// Sections are numbered 2, 2.1, 2.1.3: the groups within a group, and the groups around it,
// outermost first.
const isWithin = (row, other) => row !== other && section(row).startsWith(`${section(other)}.`);
const partsOf = (row) => groupRows().filter((one) => isWithin(one, row));
const above = (row) => groupRows().filter((one) => isWithin(row, one));
// The alerts of a group, including those of its nested groups.
const insideOf = (row) => [row, ...partsOf(row)].flatMap((one) => [...one.parentElement.querySelectorAll("tr[data-row]:not(.group)")]);
const escaped = (text) => encodeURIComponent(text);
const everything = () => [grid.dataset.base, grid.dataset.made && `created_time:${grid.dataset.made}`].filter(Boolean).map((one) => `(${one})`);

// Groups deselected after "select all matches", including their alerts that no page shows.
const isOut = (row) => !isSelected(row);
const groupsOut = () => groupRows().filter((row) => isOut(row) && partsOf(row).every(isOut));

// The alerts that a change affects; `whole` is the group of the focused alert.
function chosen(whole) {
  const ids = selected(grid);
  if (grid.dataset.all === "true") {
    const left = leftOut(grid).filter((id) => !id.startsWith("group:"));
    const query = [...everything(), ...groupsOut().map((row) => `-(${row.dataset.queryPart})`)].join(" ");
    return { body: { query: `q=${escaped(query)}`, except_ids: left }, rows: alertRows().filter((row) => !left.includes(row.dataset.row)) };
  }
  const focused = document.activeElement.closest?.("tr[data-row]") ?? last ?? grid.querySelector("tr.open");
  const single = ids.filter((id) => !id.startsWith("group:"));
  const marked = groupRows().filter((row) => ids.includes(row.dataset.row) || (!ids.length && (whole ? row.parentElement.contains(focused) : row === focused)));
  const groups = marked.filter((row) => !above(row).some((one) => marked.includes(one)));
  if (groups.length) {
    const inside = [...new Set(groups.flatMap(insideOf))];
    const left = inside.filter((row) => row.dataset.left === "true").map((row) => row.dataset.row);
    const others = single.filter((id) => !inside.some((row) => row.dataset.row === id));
    const suppress = groups.map((row) => row.dataset.queryPart);
    const query = [...everything(), `(${[...suppress, ...others.map((id) => `unique_id:${id}`)].join(" OR ")})`].join(" ");
    const rows = alertRows().filter((row) => others.includes(row.dataset.row) || (inside.includes(row) && !left.includes(row.dataset.row)));
    return { body: { query: `q=${escaped(query)}`, except_ids: left }, rows, suppress };
  }
  const wanted = single.length ? single : [(grid.querySelector("tr.open") ?? focused ?? alertRows()[0])?.dataset.row].filter(Boolean);
  return { body: { alert_ids: wanted }, rows: alertRows().filter((row) => wanted.includes(row.dataset.row)) };
}

// Shows what a checkbox would do, or who may check it if the reader may not.
const explain = (name, text) => form.elements[name].disabled || (form.elements[name].parentElement.querySelector(".meta").textContent = text);

async function ask({ triage: status, assign, word = WORDS[status], ask: field, suppress }) {
  const about = chosen(suppress);
  pending = { ...about, status };
  form.reset();
  form.elements.assigned_to.value = assign ?? "";
  const closes = ["Resolved", "False Positive"].includes(status);
  const offer = (name, is) => (form.elements[name].parentElement.hidden = !(closes && is));
  form.elements.suppress.checked = Boolean(suppress && about.suppress);
  offer("suppress", about.suppress);
  offer("set_ignored", false);
  const title = document.getElementById("triage-title");
  const counted = dialog.querySelector("[data-counted]");
  const button = dialog.querySelector("[data-submit]");
  title.textContent = `${word}…`;
  counted.textContent = _("Counting…");
  button.disabled = true;
  openDialog(dialog);
  if (field) form.elements[field].focus();
  pending.counting = attempt(async () => {
    const found = await call("POST", "/api/v1/alerts", { ...about.body, dry_run: true });
    Object.assign(pending, { expected: found.alerts, snapshot: found.snapshot, selectsAll: found.selects_all });
    const alerts = many(found.alerts, _("alert"), _("alerts"));
    title.textContent = `${word}${alerts}`;
    counted.textContent = [
      _`${alerts} on ${many(found.hosts, _("host"), _("hosts"))}`,
      found.selects_all && _("no filter: all alerts"),
      found.oldest && _`oldest: ${found.oldest.slice(0, 16).replace("T", " ")}Z`,
      found.assigned_to_others && _`${number(found.assigned_to_others)} assigned to others`,
      found.not_permitted && _`${number(found.not_permitted)} more that you cannot change`,
    ].filter(Boolean).join(" · ");
    button.disabled = !found.alerts;
    offer("set_ignored", found.reports);
    pending.refused = found.not_permitted;
    explain("suppress", _`(${alerts} would have been suppressed)`);
    explain("set_ignored", `(${many(found.reports, _("report"), _("reports"))})`);
    return found;
  });
}

// The calls to send: the change, and the suppression of similar alerts.
function calls({ body, snapshot, expected, selectsAll, status, suppress }) {
  const fields = new FormData(form);
  const given = { requested_status: status, comment: fields.get("comment"), assigned_to: fields.get("assigned_to") };
  if (fields.get("set_ignored")) given.set_ignored = true;
  if (selectsAll) given.allow_all = true; // the dialog says so
  const sent = [["POST", "/api/v1/alerts", { ...body, snapshot, expected, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value)) }]];
  if (fields.get("suppress") && suppress) sent.push(["POST", "/api/v1/alert/suppression", { query: suppress.join(" OR "), name: "From the alert queue", reason: given.comment ?? "" }]);
  return sent;
}

async function submit() {
  const about = pending;
  await about.counting;
  if (about.expected === undefined) return;
  const [change, suppression] = calls(about);
  const found = await call(...change);
  visited();
  dialog.close();
  const kept = suppression && (await attempt(() => call(...suppression)));
  const same = about.expected - found.changed;
  const result = [
    `${_`${many(found.changed, _("alert"), _("alerts"))} updated`}${about.status ? `: ${DONE[about.status]}` : ""}`,
    found.reports && _`${many(found.reports, _("report"), _("reports"))} ignored`,
    same && _`${number(same)} unchanged`,
    about.refused && _`${number(about.refused)} more that you cannot change`,
  ];
  const changed = [result.filter(Boolean).join(" · "), found.action_id, kept?.id];
  if (leave(about.rows, about.status)) return sayChanged(...changed);
  sessionStorage.setItem("changed", JSON.stringify(changed)); // kept to offer undo on the next page
  location.reload();
}

// Alerts created after this are new at the next visit. Other preferences may have changed
// elsewhere.
function visited() {
  const before = document.querySelector("[data-visit]").dataset.visit || 0;
  adoptKept().then(() => {
    prefer("visit", `${before} ${Number(meta("server-time")) + Math.round(performance.now())}`);
  }, () => {});
}

visited();

function sayChanged(text, action, suppression) {
  done(text, action ? async () => {
    if (suppression) await call("DELETE", `/api/v1/alert/suppression/${suppression}`);
    const undone = await call("POST", `/api/v1/undo/${action}`);
    sessionStorage.setItem("done", [_`Change undone: ${many(undone.restored, _("alert"), _("alerts"))}`, undone.reports && many(undone.reports, _("report no longer ignored"), _("reports no longer ignored"))].filter(Boolean).join(" · "));
    location.reload();
  } : null);
}

const changedBefore = JSON.parse(sessionStorage.getItem("changed") ?? "null");
sessionStorage.removeItem("changed");
if (changedBefore) sayChanged(...changedBefore);

// Removes closed alerts from the view and focuses the next one. Returns false if the page has no
// further alert.
function leave(rows, status) {
  const list = alertRows();
  const at = Math.max(0, list.indexOf(rows[0]));
  const closes = ["Resolved", "False Positive"].includes(status) && grid.dataset.base.includes("-status:");
  if (closes) {
    for (const row of rows) {
      const group = row.parentElement.querySelector("tr.group");
      row.remove();
      for (const one of [group, ...above(group).reverse()]) if (!insideOf(one).length) one.parentElement.remove();
    }
  }
  for (const row of grid.querySelectorAll("tr[aria-selected=true]")) row.setAttribute("aria-selected", "false");
  grid.dataset.all = "false";
  const next = alertRows()[closes ? at : Math.min(at + 1, alertRows().length - 1)] ?? alertRows().at(-1);
  if (next) show(next);
  return Boolean(next);
}

function show(row) {
  if (row.hidden) fold(row.parentElement.querySelector("tr.group"), true);
  last = row;
  focusRow(row);
  if (innerWidth >= 1280) openFlyout(row, { focus: false });
}

if (grid) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-triage]");
    if (button) ask(button.dataset);
  });
  offerCalls(form, async () => {
    await pending.counting;
    return calls(pending);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(submit);
  });
  dialog.addEventListener("close", () => last?.isConnected && focusRow(last));
  grid.addEventListener("focusin", (event) => (last = event.target.closest("tr[data-row]") ?? last));
  // Selecting a group selects its alerts; deselecting it excludes them. The checkbox of a group is
  // indeterminate while some of its alerts are deselected.
  grid.addEventListener("change", (event) => mark(event.target.closest("tr")));
  grid.addEventListener("selection", () => mark(last));
}

bind("X", _("Select the row's group"), () => {
  const row = (last ?? grid?.querySelector("tr.open"))?.parentElement.querySelector("tr.group");
  if (row) {
    select(row);
    mark(row);
  }
  return Boolean(row);
});

function mark(row) {
  if (!row) return;
  const on = isSelected(row);
  if (row.classList.contains("group")) {
    for (const one of insideOf(row)) {
      choose(one, on);
      one.dataset.left = "false";
    }
    for (const one of partsOf(row)) choose(one, on);
    if (!on) for (const one of above(row)) choose(one, false); // no longer complete
  } else {
    const group = row.parentElement.querySelector("tr.group");
    row.dataset.left = String(Boolean(group) && isSelected(group) && !on);
  }
  for (const group of groupRows()) {
    group.querySelector("input").indeterminate = [...insideOf(group), ...partsOf(group)].some((one) => isOut(one) !== isOut(group));
  }
}

// A folded group hides its alerts and skips them for j and k.
function fold(row, open) {
  const button = row.querySelector("[data-fold]");
  button.setAttribute("aria-expanded", open);
  for (const one of partsOf(row)) {
    one.hidden = !open || !isOpen(above(one).at(-1));
    if (!open) fold(one, false);
  }
  for (const one of row.parentElement.querySelectorAll("tr[data-row]:not(.group)")) one.hidden = !open;
  const outer = open && above(row).at(-1);
  if (outer && !isOpen(outer)) fold(outer, true);
}

const isOpen = (row) => row.querySelector("[data-fold]").getAttribute("aria-expanded") === "true";

function startFolding() {
  grid.addEventListener("click", (event) => {
    const row = event.target.closest("[data-fold]")?.closest("tr");
    if (row) fold(row, !isOpen(row));
    if (row) noteFolded();
  });
  grid.addEventListener("keydown", (event) => {
    const open = { ArrowRight: true, ArrowLeft: false }[event.key];
    const row = event.target;
    if (open === undefined || !row.matches("tr.group") || isOpen(row) === open) return;
    fold(row, open);
    noteFolded();
    event.preventDefault();
    event.stopPropagation();
  });
  document.querySelector("[data-fold-all]").addEventListener("click", ({ currentTarget: button }) => {
    const open = button.getAttribute("aria-pressed") === "true";
    const at = document.activeElement.closest("tr[data-row]") ?? last;
    for (const row of groupRows()) fold(row, open);
    button.setAttribute("aria-pressed", !open);
    noteFolded();
    if (at?.hidden) focusRow(groupRows().find((row) => section(row) === section(at).split(".")[0]));
  });
}

// The address contains the folded groups.
const keyOf = (row) => row.dataset.row.slice(6);

function noteFolded() {
  const folded = groupRows().filter((row) => !isOpen(row));
  setParameter("fold", folded.length === groupRows().length ? "all" : folded.map(keyOf).join("."));
}

if (grid) {
  startFolding();
  const folded = parameter("fold");
  for (const row of groupRows()) if (folded === "all" || folded.split(".").includes(keyOf(row))) fold(row, false);
  if (folded === "all") document.querySelector("[data-fold-all]").setAttribute("aria-pressed", "true");
  const first = alertRows().find((row) => !row.hidden);
  if (first && !parameter("d")) show(first);
}

