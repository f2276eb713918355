// Process analysis: tree, timeline, events and details of a process. A selection in one view
// applies to all.

import { attempt, call, failed, get, repeat } from "./api.js";
import { copyText } from "./copy.js";
import { exportFrom } from "./export.js";
import { icon, make, many, number, parameter, say, setParameter } from "./dom.js";
import { bind } from "./keys.js";
import { ProcessMap } from "./map.js";
import { preference } from "./preferences.js";
import { LANES, STEPS, Timeline } from "./timeline.js";
import { spanText, timeText } from "./time.js";
import { ProcessTree } from "./tree.js";
import { plain, untrusted } from "./untrusted.js";
import { Windowed } from "./windowed.js";

const NEAR = 2000; // events of a part of the timeline that are loaded to show them as marks
const BRANCH = 10_000; // children of a process to load when it is expanded
const TREE = { depth: 6, max_nodes: 500 };

const root = document.getElementById("analysis");
const { process: id, segment } = root.dataset;
const life = [Number(root.dataset.since), Number(root.dataset.until)]; // of a process without events
const part = (name) => document.getElementById(name);
const laneOf = new Map(LANES.map(([, kind], lane) => [kind, lane]));
const kinds = new Set(LANES.map(([, kind]) => kind));
const most = Number(root.dataset.events); // events that are loaded at once; of longer processes the first
const PAGE = Math.min(500, most);
const state = { all: [], near: [], shown: [], totals: {}, buckets: [], fine: null, wanted: "", hidden: new Set(), stream: null };

// ---- the tree

// All children of a process. Of very many only the first, which the tree indicates.
async function branch(node) {
  const nodes = [];
  let next = "";
  do {
    const found = await get(`/api/v1/process/${node.id}/tree?${new URLSearchParams({ depth: 1, max_nodes: 1000, continue: next })}`);
    nodes.push(...found.nodes.filter((one) => one.id !== node.id));
    next = found.continue;
  } while (next && nodes.length < BRANCH);
  if (next) state.isWhole = false;
  noteTree();
  return nodes;
}

const tree = new ProcessTree(part("tree"), {
  onSelect: (node) => {
    map?.follow(node.id);
    showNode(node);
  },
  onOpen: (node) => !node.missing && node.id !== id && location.assign(`/ui/process/${node.id}`),
  load: (node) => attempt(() => branch(node), null),
});
let map = null;

async function readTree() {
  const found = await get(`/api/v1/process/${id}/tree?${new URLSearchParams(TREE)}`);
  tree.add([...found.ancestors].reverse());
  tree.add(found.nodes);
  tree.show({ root: id, selected: id });
  state.isWhole = found.is_complete;
  noteTree();
  part("tree-more").hidden = !found.continue;
  state.continue = found.continue;
  part("tree-pane").removeAttribute("aria-busy");
}

part("tree-more").addEventListener("click", () =>
  attempt(async () => {
    const found = await get(`/api/v1/process/${id}/tree?${new URLSearchParams({ ...TREE, continue: state.continue })}`);
    tree.add(found.nodes);
    tree.refresh();
    noteTree();
    map?.set(tree);
    state.continue = found.continue;
    part("tree-more").hidden = !found.continue;
  }),
);

// Shows the number of nodes that the tree omits.
function noteTree() {
  const count = tree.hidden.size + tree.copyOf.size;
  part("tree-status").textContent = [!state.isWhole && _("more processes below"), count && _`${number(count)} hidden`].filter(Boolean).join(", ");
}

function showOnly(name, on) {
  if (on) tree.shows.add(name);
  else tree.shows.delete(name);
  document.querySelector(`[data-shows=${name}]`).setAttribute("aria-pressed", on);
}

part("tree-shows").addEventListener("click", ({ target }) => {
  const button = target.closest("[data-shows]");
  if (!button) return;
  showOnly(button.dataset.shows, button.getAttribute("aria-pressed") !== "true");
  tree.refresh();
  noteTree();
  map?.set(tree);
  say(part("tree-status").textContent || _("Full tree"));
  setParameter("tree", [...tree.shows].join("."));
});

function showMap(on) {
  part("map").hidden = !on;
  part("tree").hidden = on;
  part("tree-view").setAttribute("aria-pressed", on);
  if (on) {
    map ??= new ProcessMap(part("map"), { onSelect: (node) => tree.select(node.id) });
    map.resize();
    map.set(tree);
  }
  setParameter("view", on ? "map" : "");
}

// ---- the timeline

const timeline = new Timeline(part("timeline"), {
  onSelect: (index) => pick(state.shown[index]),
  onRange: (since, until) => {
    state.range = [since, until];
    filter();
  },
  onView: () => {
    clearTimeout(state.viewed);
    if (state.isCut) state.viewed = setTimeout(attempt, 150, readView);
  },
  describe: (index) => spoken(state.shown[index]),
});

const spoken = (event) => (event ? `${timeText(event.t)}, ${event.type}, ${plain(line(event)[1]).slice(0, 120)}` : "");

async function readTimeline() {
  const found = await get(`/api/v1/process/${id}/timeline`);
  Object.assign(state, { buckets: found.buckets, totals: found.event_counts, interval: found.interval * 1000 });
  state.days = found.first_event && Date.parse(found.last_event) - Date.parse(found.first_event) > 72e6;
  part("events").classList.toggle("with-days", Boolean(state.days));
  state.span = found.first_event ? [Date.parse(found.first_event), Date.parse(found.last_event)] : life;
  chips();
  drawTimeline();
}

// Counts of events that are not loaded, from the server's intervals; finer intervals in the visible
// part.
function drawTimeline() {
  const { fine, interval } = state;
  const isOutside = ({ start }) => !fine || Date.parse(start) + interval <= fine.since || Date.parse(start) >= fine.until;
  const density = state.complete ? [] : [...unread(state.buckets.filter(isOutside), interval), ...unread(fine?.buckets ?? [], fine?.interval)];
  const firsts = new Map();
  for (const { segment_id: segment, t } of state.all.concat(state.near)) if (!(firsts.get(segment) <= t)) firsts.set(segment, t);
  timeline.borders = [...firsts.values()].sort((a, b) => a - b).slice(1);
  timeline.at = state.shown.indexOf(state.picked);
  timeline.set(state.shown.map((one) => one.t), state.shown.map((one) => laneOf.get(one.type) ?? -1), density, state.span);
  if (part("timeline-twin").open) part("timeline-table").replaceChildren(timeline.table(state.buckets, state.interval));
}

// The count of each interval, minus the loaded events.
function unread(buckets, width) {
  const left = new Map(buckets.map(({ start, event_counts: counts }) => [Date.parse(start), { ...counts }]));
  for (const { t, type } of state.all.concat(state.near)) {
    const counts = left.get(Math.floor(t / width) * width);
    if (counts) counts[type] -= 1;
  }
  const some = ([kind, count]) => count > 0 && !state.hidden.has(kind);
  return [...left].flatMap(([t, counts]) => Object.entries(counts).filter(some).map(([kind, count]) => ({ t, width, lane: laneOf.get(kind) ?? -1, count })));
}

// Loads counts for the visible part and half its width on each side, and its events if they are
// few.
async function readView() {
  const asked = (state.asked = {});
  const [from, until] = timeline.view;
  const room = (until - from) / 2;
  const width = STEPS.find((one) => one === 864e5 || (one >= 1000 && room <= 75 * one));
  const fine = { interval: width, since: Math.floor((from - room) / width) * width, until: Math.ceil((until + room) / width) * width };
  if (state.fine?.since === fine.since && state.fine.until === fine.until) return;
  let near = [];
  if (timeline.touched && fine.until > state.all.at(-1).t) {
    const found = await get(`/api/v1/process/${id}/timeline?${new URLSearchParams({ interval: width / 1000, start: new Date(fine.since).toISOString(), end: lastBefore(fine.until) })}`);
    fine.buckets = found.buckets;
    if (Object.values(found.event_counts).reduce((sum, one) => sum + one, 0) <= NEAR) near = await readSpan(fine.since, fine.until);
  }
  if (state.asked !== asked) return; // the visible part has changed meanwhile
  const picked = JSON.stringify(state.picked); // keeps the selection after reloading
  Object.assign(state, { near: near.map((one) => (JSON.stringify(one) === picked ? state.picked : one)), fine: fine.buckets && fine });
  filter({ quiet: true });
}

const lastBefore = (ms) => new Date(ms - 1).toISOString().replace("Z", "999Z"); // times have microseconds
const begin = () => call("POST", "/api/v6/process/stream", { process_id: id, segment_id: 1, persistent: false });
const dated = (events) => events.map((event) => ({ ...event, t: Date.parse(event.time) }));

// Loads events between two times, without those already loaded.
async function readSpan(since, until) {
  const path = `/api/v6/process/stream/${(await begin()).stream_id}`;
  await get(`${path}?rows=0&seek=true&by=1000000000&end_time=${lastBefore(since)}`);
  const found = await get(`${path}?rows=${NEAR}&end_time=${lastBefore(until)}`);
  await call("POST", path);
  return dated(found.events.slice(Math.max(0, state.all.length - found.head_as_ref_segment_offset)));
}

part("timeline-twin").addEventListener("toggle", () => part("timeline-table").replaceChildren(timeline.table(state.buckets, state.interval)));

// ---- the events

const VERBS = { filemod: (data) => data.action, modload: () => "load", regmod: (data) => data.action, netconn: (data) => (data.direction === "true" ? "connect" : "accept"), crossproc: (data) => data.type, childproc: (data) => data.type, processblock: () => "blocked" };
const OBJECTS = {
  netconn: (data) => `${data.domain ? `${data.domain} ` : ""}${data.remote_ip}:${data.remote_port}`,
  childproc: (data) => data.commandLine || data.path,
  processblock: (data) => data.blocked_cmdline || data.blocked_path,
};
const line = (event) => [
  String(VERBS[event.type]?.(event.data) ?? event.type).replaceAll("_", " "),
  String((OBJECTS[event.type] ?? ((data) => data.path))(event.data) ?? ""),
];

const list = new Windowed(part("events"), {
  fill: (element, event) => {
    if (element.shown === event && element.zone === preference("zone")) return;
    element.shown = event;
    element.zone = preference("zone");
    const [verb, object] = line(event);
    const signature = event.binary_info?.digsig_result;
    element.replaceChildren(
      make("span", { class: "time", role: "gridcell", title: timeText(event.t) }, timeText(event.t, { day: state.days })),
      make("span", { class: `letter kind-${laneOf.get(event.type) ?? 7}`, role: "gridcell", title: event.type }, LANES[laneOf.get(event.type)]?.[0] ?? "·"),
      make("span", { class: "verb", role: "gridcell" }, verb),
      make("span", { class: "object mono", role: "gridcell" }, untrusted(object, { short: true })),
      make("span", { class: "meta", role: "gridcell" }, signature ? untrusted(signature) : ""),
    );
    if (event.alliance_hits) element.append(make("span", { class: "badge warn" }, "hit"));
  },
  name: (event) => spoken(event),
  on: {
    select: (event) => pick(event, "list"),
    open: (event) => {
      pick(event, "list");
      part("details").querySelector("h2")?.focus();
    },
    key: (event, row) => ownKey(event, row),
  },
});

function ownKey(event, row) {
  if (event.shiftKey && event.key === "Enter" && row) {
    const target = row.data.processId;
    if (target) location.assign(`/ui/process/${target}`);
  } else if (event.key === "e") {
    state.wanted = "";
    part("event-filter").value = "";
    filter();
  } else return false;
  return true;
}

// Continues loading; loads everything if no more than a page remains.
async function readOn() {
  const before = state.all.length;
  state.stream = (await begin()).stream_id;
  let move = before ? `&seek=true&by=${before}` : "";
  while (state.all.length < most) {
    const found = await readPage(`rows=${PAGE}${move}`);
    move = `&seek=true&by=${PAGE}`;
    state.all.push(...dated(found.events));
    if (found.events.length || !before) filter({ quiet: true });
    if (found.events.length < PAGE) {
      state.complete = true;
      break;
    }
  }
  return state.all.length - before;
}

async function readEvents() {
  state.all = [];
  await readOn();
  state.isCut = !state.complete;
  filter({ quiet: true });
  part("events-pane").removeAttribute("aria-busy");
  if (state.isCut) timeline.onView();
  say(part("event-status").textContent);
  const wanted = Number(parameter("sel"));
  if (wanted) await goTo(wanted);
}

// Selects the event at a time or the first after it; loads events far from the loaded ones.
async function goTo(wanted) {
  if (state.isCut && wanted > state.all.at(-1).t) {
    timeline.view = [wanted - 1e4, wanted + 1e4];
    timeline.touched = true;
    await readView();
    await readView(); // drawing may have requested the same part; the first request is abandoned
  }
  return jump(wanted);
}

// Parses a typed time in the displayed time zone: with a date, or on the day in view.
function typedTime(text) {
  const [, day, zone] = /^(\S+) \S*?(Z|[+-]\d\d:\d\d)?$/.exec(timeText(state.picked?.t ?? state.span?.[0] ?? Date.now()));
  const typed = /^\d{4}-/.test(text) ? text.replace(" ", "T") : `${day}T${text.replace(/^\d:/, "0$&")}`;
  return Date.parse(/T.*(Z|[+-]\d\d:?\d\d)$/.test(typed) || !typed.includes("T") ? typed : typed + (zone ?? ""));
}

// Reopens an expired stream at the same position.
async function readPage(query) {
  try {
    return await get(`/api/v6/process/stream/${state.stream}?${query}`);
  } catch (error) {
    if (error.status !== 404) throw error;
    state.stream = (await begin()).stream_id;
    return get(`/api/v6/process/stream/${state.stream}?rows=${PAGE}&seek=true&by=${state.all.length}`);
  }
}

// All events as returned by the API; in a table with a column for each of their members.
exportFrom(async function* (format) {
  const rows = 1000;
  const path = `/api/v6/process/stream/${(await begin()).stream_id}`;
  const flat = ({ time, type, data, binary_info: binary }) => ({ time, kind: type, ...data, signature: binary?.digsig_result, publisher: binary?.digsig_publisher });
  for (let move = ""; ; move = `&seek=true&by=${rows}`) {
    const { events } = await get(`${path}?rows=${rows}${move}`);
    yield [format === "csv" ? events.map(flat) : events, state.total];
    if (events.length < rows) break;
  }
  await call("POST", path);
});

// Following: appends new events of a running process as they arrive.
const FOLLOW_MS = 5_000;

function follow(on) {
  part("follow")?.setAttribute("aria-pressed", on);
  setParameter("follow", on && "1");
  clearInterval(state.following);
  state.following = on ? repeat(news, FOLLOW_MS) : 0;
}

async function news() {
  if (state.isReading || !root.dataset.loaded) return;
  state.isReading = true;
  try {
    part("stored").dispatchEvent(new CustomEvent("again"));
    await readTimeline();
    const count = state.isCut ? 0 : await readOn();
    if (count) say(_`${many(count, _("event"), _("events"))} new`);
  } finally {
    state.isReading = false;
  }
}

part("follow")?.addEventListener("click", ({ currentTarget: button }) => follow(button.getAttribute("aria-pressed") !== "true"));

// Details of the stored data have arrived: shows gaps hatched, and stops following a process that
// has ended.
document.addEventListener("content", () => {
  timeline.gaps = JSON.parse(part("stored").querySelector("[data-gaps]")?.dataset.gaps ?? "[]");
  const alerts = JSON.parse(part("stored").querySelector("[data-alerts]")?.dataset.alerts ?? "[]");
  timeline.alerts = alerts.filter(([process]) => process === id).map(([, time]) => time);
  timeline.later();
  tree.alerts = new Set(alerts.map(([process]) => process));
  if (state.continue !== undefined) tree.refresh();
  if (state.following && part("stored").querySelector("[data-standing=ended]")) follow(false);
});

// The address contains the filter of events.
function noteFilter() {
  const letters = LANES.filter(([, kind]) => !state.hidden.has(kind)).map(([letter]) => letter).join("");
  setParameter("kinds", state.hidden.size && letters);
  setParameter("f", state.wanted);
  setParameter("range", state.range?.map(Math.round).join(".."));
}

function takeFilter() {
  const letters = parameter("kinds");
  if (letters) for (const [letter, kind] of LANES) if (!letters.includes(letter)) state.hidden.add(kind);
  part("event-filter").value = state.wanted = parameter("f");
  for (const name of parameter("tree").split(".")) if (["helpers", "same", "marked"].includes(name)) showOnly(name, true);
  if (parameter("follow") && part("follow")) follow(true);
  const range = parameter("range").split("..").map(Number);
  if (range.length === 2 && range.every(Number.isFinite)) state.range = range;
}

function filter({ quiet = false } = {}) {
  if (!quiet) noteFilter();
  const text = state.wanted.toLowerCase();
  const range = state.range;
  const all = state.all.concat(state.near);
  state.shown = all.filter(
    (event) =>
      !state.hidden.has(event.type) &&
      (!range || (event.t >= range[0] && event.t <= range[1])) &&
      (!text || line(event).join(" ").toLowerCase().includes(text) || JSON.stringify(event.data).toLowerCase().includes(text)),
  );
  list.set(state.shown);
  drawTimeline();
  const stored = Object.entries(state.totals).filter(([kind]) => kinds.has(kind)).reduce((sum, [, one]) => sum + one, 0);
  const total = (state.total = Math.max(stored, state.all.length));
  document.querySelector("[data-action=export]").dataset.total = total;
  const known = state.complete ? number(all.length) : _`${number(all.length)} of ${number(total)}`;
  const words = state.complete && all.length === 1 ? _("event") : _("events");
  part("event-status").textContent = state.shown.length === all.length ? `${known} ${words}` : _`${number(state.shown.length)} of ${known} events`;
  part("event-empty").hidden = state.shown.length > 0 || !state.complete;
  part("event-empty-why").textContent = state.all.length ? _("No events match the filter.") : _("No stored events for this process.");
  if (!quiet) say(part("event-status").textContent);
  part("range-clear").hidden = !range;
}

function chips() {
  part("kinds").replaceChildren(
    ...LANES.map(([letter, kind, label]) => {
      const count = state.totals[kind] ?? 0;
      const chip = make("button", { type: "button", class: "chip-button", "aria-pressed": String(!state.hidden.has(kind)), disabled: !count, title: label }, make("b", {}, letter), ` ${label} `, make("span", { class: "num" }, number(count)));
      chip.addEventListener("click", () => {
        if (state.hidden.has(kind)) state.hidden.delete(kind);
        else state.hidden.add(kind);
        chip.setAttribute("aria-pressed", String(!state.hidden.has(kind)));
        filter();
      });
      return chip;
    }),
  );
}

function jump(ms) {
  const index = state.shown.findIndex((event) => event.t >= ms);
  if (index >= 0) pick(state.shown[index]);
  return index >= 0;
}

// ---- what is selected

function pick(event, from = "") {
  if (!event || state.picked === event) return;
  state.picked = event;
  const index = state.shown.indexOf(event);
  if (from !== "list") list.go(index, { quiet: true, centre: true });
  timeline.select(index, { quiet: true });
  if (event.type === "childproc" && tree.nodes.has(event.data.processId)) tree.select(event.data.processId, { quiet: true });
  setParameter("sel", event.t);
  showEvent(event);
}

const PLAIN_NAMES = { processId: "process", userName: "user", commandLine: "command line", is_tampered: "tampered", filetype_name: "file type" };

function fact(name, value, { time = false } = {}) {
  if (value === "" || value === null || value === undefined || value === false) return [];
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const copy = make("button", { type: "button", class: "quiet copy", "aria-label": _`Copy ${name}`, onclick: () => copyText(text, _`${name} copied`) }, icon("copy"));
  const shown = time ? timeText(Number(value)) : untrusted(text);
  return [make("dt", {}, PLAIN_NAMES[name] ?? name.replaceAll("_", " ")), make("dd", { class: "mono" }, shown, copy)];
}

function details(title, facts, links, raw, value) {
  const place = part("details");
  const json = make("details", { class: "twin" }, make("summary", {}, _("JSON")), make("pre", { class: "mono wrap" }, ...JSON.stringify(raw, null, 2).split("\n").flatMap((one) => [untrusted(one), "\n"])));
  place.replaceChildren(make("h2", { tabindex: "-1" }, title), make("p", { class: "actions" }, ...links), elsewhere(value), make("dl", { class: "facts" }, ...facts.flat()), json);
  part("details-pane").hidden = false;
}

// Shows the prevalence of a value on all hosts that the reader sees, once it is selected for a
// moment.
let counting = 0;

function elsewhere(value) {
  const place = make("p", { class: "meta" });
  clearTimeout(counting);
  counting = value && setTimeout(async () => {
    const known = await get(`/api/v1/lookup?${new URLSearchParams({ value })}`).catch(({ message }) => place.append(untrusted(message)));
    if (!known) return;
    const { processes, host_count: hosts, alerts } = known;
    place.append(known.incomplete_results ? _("at least ") : "", _`${many(processes, _("process"), _("processes"))} on ${many(hosts, _("host"), _("hosts"))}, ${many(alerts, _("alert"), _("alerts"))}`);
    if (known.first_seen) place.append(_(", first seen "), timeText(Date.parse(known.first_seen), { milliseconds: false }));
    if (known.banned) place.append(" ", make("span", { class: "chip" }, icon("ban"), _(" banned")));
  }, 400);
  return place;
}

const programLink = (md5) => make("a", { class: "button", href: `/ui/binary/${md5}` }, _("Program"));

const searchLink = (label, query) => make("a", { class: "button", href: `/ui/process?${new URLSearchParams({ q: query, t: "all" })}` }, label);

// A link to an ingress filter that matches this event, or the process that it started.
function filterLink(terms) {
  if (root.dataset.program === undefined) return [];
  const known = Object.entries({ program: root.dataset.program, ...terms }).filter(([, one]) => one && one.length < 4096);
  return [make("a", { class: "button", "data-filters": true, href: `/ui/filters?${new URLSearchParams(known)}` }, _("Filter "), make("kbd", {}, "F"))];
}

function showEvent(event) {
  const [verb, object] = line(event);
  const { data } = event;
  const links = [];
  if (data.processId) links.push(make("a", { class: "button", href: `/ui/process/${data.processId}` }, _("Open process")));
  if (data.md5) links.push(programLink(data.md5), searchLink(_("Search this file"), `md5:${data.md5}`));
  if (data.domain) links.push(searchLink(_("Search this domain"), `domain:${data.domain}`));
  else if (data.remote_ip && data.remote_ip !== "0.0.0.0") links.push(searchLink(_("Search this address"), `ipaddr:${data.remote_ip}`));
  links.push(...filterLink({ kind: event.type, value: data.path || data.domain || `${data.remote_ip}:${data.remote_port}`, line: data.commandLine }));
  const facts = [fact("time", event.t, { time: true }), ...Object.entries(data).map(([name, value]) => fact(name, value)), fact("signature", event.binary_info?.digsig_result), fact("publisher", event.binary_info?.digsig_publisher)];
  details(make("span", {}, `${verb} `, untrusted(object, { short: true })), facts, links, event, data.md5 || data.domain || (data.remote_ip !== "0.0.0.0" && data.remote_ip));
  called(`${id}/${event.segment_id}/event`);
}

// The target of `y c` follows the selection.
const called = (path) => (part("call").dataset.path = `/api/v1/process/${path}`);

function showNode(node) {
  const links = [];
  if (!node.missing && node.id !== id) links.push(make("a", { class: "button primary", href: `/ui/process/${node.id}` }, _("Analyze")));
  if (node.process_md5) links.push(programLink(node.process_md5), searchLink(_("Search this file"), `process_md5:${node.process_md5}`));
  if (node.label.path) links.push(...filterLink({ program: node.label.path }));
  const parent = tree.nodes.get(node.parent_id);
  const delta = parent?.start && node.start ? spanText(Date.parse(node.start) - Date.parse(parent.start)) : "";
  const facts = [
    fact("path", node.label.path), fact("commandLine", node.label.cmdline), fact("userName", node.username), fact("pid", node.process_pid),
    fact("start", node.start ? Date.parse(node.start) : "", { time: true }), fact(_("time after parent start"), delta), fact("end", node.end ? Date.parse(node.end) : "", { time: true }),
    fact("md5", node.process_md5), fact("sha256", node.process_sha256), fact("host", node.hostname), fact("missing", node.missing), fact(_("current path"), node.now?.path),
  ];
  details(untrusted(node.label.process_name || _("unknown process")), facts, links, node, node.process_md5);
  called(`${id}/tree`);
}

// ---- keys and controls

part("tree-view").addEventListener("click", () => showMap(part("map").hidden));
part("tree-search").addEventListener("keydown", (event) => {
  if (event.key === "Enter") {
    event.preventDefault();
    if (!tree.find(event.target.value, event.shiftKey ? -1 : 1)) say(_("No match in the tree"));
  }
});
part("event-filter").addEventListener("input", (event) => {
  state.wanted = event.target.value;
  noteFilter();
  filter({ quiet: true });
});
part("event-time").addEventListener("keydown", ({ key, target }) => {
  if (key !== "Enter") return;
  const wanted = typedTime(target.value.trim());
  attempt(async () => {
    const isFound = wanted && (await goTo(wanted));
    target.setAttribute("aria-invalid", !isFound);
    say(isFound ? spoken(state.picked) : wanted ? _("No events at or after this time") : _("Invalid time"));
  });
});
part("range-clear").addEventListener("click", () => {
  state.range = null;
  timeline.marked = null;
  filter();
});
for (const button of document.querySelectorAll("[data-timeline]")) {
  button.addEventListener("click", () => ({ in: () => timeline.zoom(0.5), out: () => timeline.zoom(2), fit: () => timeline.fit(), left: () => timeline.pan(-0.2), right: () => timeline.pan(0.2) })[button.dataset.timeline]());
}
part("copy-tree").addEventListener("click", () => copyText(tree.asText(), _("Tree copied as text")));
document.addEventListener("look", () => {
  list.draw();
  timeline.later();
  map?.later();
  if (state.continue !== undefined) tree.refresh();
  if (state.picked) showEvent(state.picked);
});

bind("1", _("Tree"), () => part("tree").hidden ? part("tree-view").focus() : part("tree").focus());
bind("2", _("Timeline"), () => timeline.cursor.focus());
bind("3", _("Events"), () => part("events").focus());
bind("4", _("Details"), () => part("details").querySelector("h2")?.focus());
bind("f", _("Filter events"), () => part("event-filter").focus());
bind("F", _("Create ingress filter"), () => {
  const link = document.querySelector("#details [data-filters]");
  link?.click();
  return Boolean(link);
});
bind("v", _("Tree or map"), () => showMap(part("map").hidden));
bind("Shift+ArrowUp", _("Go to parent process"), () => {
  const parent = tree.nodes.get(id)?.parent_id;
  if (parent && tree.nodes.has(parent) && !tree.nodes.get(parent).missing) location.assign(`/ui/process/${parent}`);
});
bind("[", _("Previous mark"), () => timeline.select(timeline.beside(-1)));
bind("]", _("Next mark"), () => timeline.select(timeline.beside(1)));

async function guarded(work, place) {
  try {
    await work();
  } catch (error) {
    part(place).removeAttribute("aria-busy");
    failed(error, () => guarded(work, place));
  }
}

takeFilter();
await Promise.all([
  guarded(readTree, "tree-pane"),
  guarded(async () => {
    await readTimeline();
    await readEvents();
  }, "events-pane"),
]);
if (parameter("view") === "map") showMap(true);
root.dataset.loaded = "true";
