// Bulk changes of sensors: counts the selected sensors, lists refusals with reasons, then changes
// them.

import { attempt, call, done, get } from "./api.js";
import { openDialog } from "./app.js";
import { offerCalls } from "./copy.js";
import { make, many, number } from "./dom.js";
import { focusRow, leftOut, selected } from "./grid.js";
import { untrusted } from "./untrusted.js";

const STEP = 1000; // maximum of a call
const grid = document.querySelector("table[data-fleet]");
const dialog = document.getElementById("fleet");
const form = dialog?.querySelector("form");
const DEEDS = {
  restart: { word: _("Restart the sensor on "), body: () => ({ restart_queued: true }) },
  flush: { word: _("Flush the backlog of "), body: () => ({ event_log_flush_time: new Date().toISOString() }) },
  isolate: { word: _("Isolate "), body: (fields) => ({ network_isolation_enabled: true, isolation_reason: fields.reason, isolation_expires: fields.isolation_expires ? new Date(Date.now() + fields.isolation_expires * 3_600_000).toISOString() : null }) },
  release: { word: _("Release "), body: () => ({ network_isolation_enabled: false }) },
  move: { word: _("Move "), body: (fields) => ({ group_id: Number(fields.group_id) }) },
  note: { word: _("Note on "), body: (fields) => ({ notes: fields.notes }) },
  update: { word: _("Update the sensor on ") },
};
let pending = null;
let last = null;

const hosts = (count) => many(count, _("host"), _("hosts"));

async function chosen() {
  if (grid.dataset.all === "true") {
    const left = new Set(leftOut(grid).map(Number));
    return (await get(`/ui/_/sensors/ids${location.search}`)).ids.filter((id) => !left.has(id));
  }
  const ids = selected(grid);
  const row = document.activeElement.closest?.("tr[data-row]") ?? last ?? grid.querySelector("tr[data-row]");
  return (ids.length ? ids : [row.dataset.row]).map(Number);
}

function wanted() {
  const fields = Object.fromEntries(new FormData(form));
  return { ...DEEDS[pending.name].body?.(fields), ...(fields.reason && { reason: fields.reason }) };
}

function calls(body, dryRun) {
  if (pending.name === "update") {
    const update = { ...body, action_type: "UPDATE_SENSOR_VERSION", device_id: pending.ids, dry_run: dryRun, options: { sensor_version: JSON.parse(grid.dataset.kits), waves: { percent: Number(form.elements.percent.value) } } };
    return [["POST", `/sus/v2/orgs/${encodeURIComponent(grid.dataset.org)}/jobs`, update]];
  }
  const steps = [];
  for (let at = 0; at < pending.ids.length; at += STEP) steps.push(["PUT", "/api/v1/sensor", { ...body, ids: pending.ids.slice(at, at + STEP), dry_run: dryRun }]);
  return steps;
}

async function change(body, dryRun) {
  const steps = calls(body, dryRun);
  if (pending.name === "update") return call(...steps[0]);
  const sum = { sensors: 0, groups: {}, host_types: {}, refused: [] };
  for (const one of steps) {
    const found = await call(...one);
    sum.sensors += found.sensors;
    sum.refused.push(...found.refused);
    if (found.isolation) sum.isolation = { online: found.isolation.online + (sum.isolation?.online ?? 0), isolated: found.isolation.isolated + (sum.isolation?.isolated ?? 0), allowed: { ...sum.isolation?.allowed, ...found.isolation.allowed } };
    for (const part of ["groups", "host_types"]) for (const [name, count] of Object.entries(found[part])) sum[part][name] = (sum[part][name] ?? 0) + count;
  }
  return sum;
}

async function ask(name) {
  const deed = DEEDS[name];
  const title = document.getElementById("fleet-title");
  const counted = dialog.querySelector("[data-counted]");
  const button = dialog.querySelector("[data-submit]");
  form.reset();
  for (const field of form.querySelectorAll("[data-for]")) {
    field.hidden = !field.dataset.for.split(" ").includes(name);
    for (const input of field.querySelectorAll("input, select")) input.disabled = field.hidden;
  }
  title.textContent = `${deed.word}…`;
  counted.replaceChildren(_("Counting…"));
  button.disabled = true;
  openDialog(dialog);
  form.querySelector(`[name=${name === "note" ? "notes" : "reason"}]`).focus();
  pending = { name, ids: [], counting: null };
  pending.counting = attempt(async () => {
    pending.ids = await chosen();
    await count();
  });
}

async function count() {
  const { name } = pending;
  const { word, body } = DEEDS[name];
  const found = await change(body?.({ notes: "", group_id: form.elements.group_id.value }), true);
  pending.counted = found.sensors ?? found.targeted;
  const button = dialog.querySelector("[data-submit]");
  button.textContent = document.getElementById("fleet-title").textContent = `${word}${hosts(pending.counted)}`;
  button.disabled = !pending.counted;
  dialog.querySelector("[data-counted]").replaceChildren(...(name === "update" ? updates(found) : consequences(found)));
}

const updates = (found) => [make("p", {}, _`${number(found.waiting)} will be updated, ${number(found.updated)} are up to date, ${number(found.failed)} cannot be updated (no package or no sensor).`)];

function consequences(found) {
  const list = (part) => Object.entries(part).map(([name, count]) => `${name} ${number(count)}`).join(", ");
  const types = found.host_types;
  const grave = (types.server ?? 0) + (types.domain_controller ?? 0);
  return [
    make("p", {}, _("In "), untrusted(list(found.groups) || _("no groups")), grave ? make("b", { class: "warn-text" }, _` · including ${number(grave)} servers or domain controllers`) : ""),
    ...reached(found),
    found.refused.length ? make("details", {}, make("summary", {}, _`${hosts(found.refused.length)} will not be changed`), make("ul", { class: "plain" }, ...found.refused.slice(0, 50).map((one) => make("li", {}, untrusted(one.message))))) : "",
  ];
}

// The hosts that an isolation reaches immediately, and the addresses that they may still reach.
function reached({ isolation, sensors }) {
  if (!isolation) return [];
  const { online, isolated, allowed } = isolation;
  return [make("p", {}, _`${number(online)} are isolated at their next check-in, ${number(sensors - online)} are offline and isolated when they reconnect, ${number(isolated)} are already isolated.`), ...Object.entries(allowed).map(([group, addresses]) => make("p", {}, _("Allowed connections in "), untrusted(group), _(": this server"), ...addresses.flatMap((one) => [", ", untrusted(one)])))];
}

async function submit() {
  const about = pending;
  await about.counting;
  if (about.counted === undefined) return;
  const found = await change(wanted(), false);
  dialog.close();
  if (found.job) return location.assign(`/ui/jobs/${encodeURIComponent(found.job.id)}`);
  const refused = found.refused.length ? _`; ${hosts(found.refused.length)} rejected` : "";
  sessionStorage.setItem("done", _`${DEEDS[about.name].word}${hosts(found.sensors)}: requested${refused}`);
  location.reload();
  return undefined;
}

function bar() {
  const count = selected(grid).length;
  const all = grid.dataset.all === "true" && Number(grid.dataset.total);
  const left = leftOut(grid).length;
  document.querySelector("[data-chosen]").textContent = all ? left ? _`all ${number(all)} matches except ${number(left)}` : _`all ${number(all)} matches` : count ? _`${number(count)} selected` : _("focused row");
}

if (grid) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-deed]");
    if (button) ask(button.dataset.deed);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(submit);
  });
  offerCalls(form, async () => {
    await pending.counting;
    return calls(wanted(), false);
  });
  form.elements.group_id.addEventListener("change", () => attempt(count));
  grid.addEventListener("focusin", (event) => (last = event.target.closest("tr[data-row]") ?? last));
  grid.addEventListener("selection", bar);
  dialog.addEventListener("close", () => last?.isConnected && focusRow(last));
  bar();
}
