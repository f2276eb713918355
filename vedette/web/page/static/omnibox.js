// Ctrl+K: paste any value to see its type and related data, and open it.

import { ApiError, attempt, get } from "./api.js";
import { make, many, number } from "./dom.js";
import { bind } from "./keys.js";
import { untrusted } from "./untrusted.js";

let dialog = null;
let waiting = 0;
let latest = 0;
let shown = null; // the text that the shown result belongs to

function build() {
  const field = make("input", { type: "text", class: "mono", "aria-label": _("Look up"), placeholder: _("Hash, address, domain, path, host, process, rule or alert"), autocomplete: "off", spellcheck: "false" });
  const place = make("div", { class: "looked", "aria-live": "polite" });
  dialog = make("dialog", { id: "omnibox", "aria-label": _("Look up anything") }, make("form", { method: "dialog" }, field, place));
  document.body.append(dialog);
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => attempt(() => look(field.value, place)), 250);
  });
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(waiting);
    attempt(async () => {
      if (shown !== field.value) await look(field.value, place);
      place.querySelector("a")?.focus();
      place.querySelector("a")?.click();
    });
  });
  dialog.addEventListener("keydown", (event) => {
    const links = [field, ...place.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    links[(links.indexOf(document.activeElement) + step + links.length) % links.length].focus();
  });
  return field;
}

async function look(text, place) {
  const mine = ++latest;
  if (!text.trim()) return place.replaceChildren();
  try {
    const found = await get(`/api/v1/lookup?value=${encodeURIComponent(text)}`);
    if (mine !== latest) return undefined;
    place.replaceChildren(...show(found));
    shown = text;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (mine === latest) place.replaceChildren(make("p", { class: "bar broken" }, untrusted(error.message)));
  }
  return undefined;
}

const PAGES = { alert: (one) => `/ui/alerts?q=${encodeURIComponent(`unique_id:${one.id}`)}`, rule: (one) => `/ui/sigma/${encodeURIComponent(one.id)}`, sensor: (one) => `/ui/sensors/${encodeURIComponent(one.id)}` };

function show(found) {
  const links = found.targets.map((one) => make("a", { href: PAGES[one.kind](one) }, make("span", { class: "chip" }, one.kind), " ", untrusted(one.name)));
  if (found.kind === "process" && found.processes) links.push(make("a", { href: `/ui/process/${encodeURIComponent(found.value.slice(0, 36))}` }, _("Analyze process")));
  const kinds = found.meanings.map((one) => one.kind);
  const program = { md5: _("Program with this MD5"), sha256: _("Program with this SHA-256") }[kinds[0]];
  if (program && !found.targets.some((one) => one.kind === "alert")) links.push(make("a", { href: `/ui/binary/${found.value}` }, program));
  const fits = found.meanings.filter((one) => one.processes);
  const search = ({ query, processes, kind }, on = "") => links.push(make("a", { href: `/ui/process?t=all&q=${encodeURIComponent(query)}` }, kind && make("span", { class: "chip" }, kind), ` ${many(processes, _("process"), _("processes"))}`, on));
  search({ ...found, kind: "" }, _` on ${many(found.host_count, _("host"), _("hosts"))}`);
  if (kinds[1]) fits.forEach((one) => search(one));
  if (found.alerts) links.push(make("a", { href: `/ui/alerts?q=${encodeURIComponent(found.alert_query)}` }, _`${many(found.alerts, _("alert"), _("alerts"))}, ${number(found.open_alerts)} open`));
  const time = (text) => (text ? `${text.slice(0, 19).replace("T", " ")}Z` : _("never"));
  const facts = make("dl", { class: "facts" },
    make("dt", {}, _("Type")), make("dd", {}, (fits.length ? fits.map((one) => one.kind) : kinds).join(", "), " ", untrusted(found.value)),
    make("dt", {}, _("Seen")), make("dd", {}, found.processes ? _`${time(found.first_seen)} to ${time(found.last_seen)}` : _("never on the hosts that you can see")),
    ...(found.hosts.length ? [make("dt", {}, _("Hosts")), make("dd", {}, ...found.hosts.slice(0, 6).flatMap((one) => [untrusted(one.name), ", "]).slice(0, -1))] : []),
    ...(found.feeds.length ? [make("dt", {}, _("Feeds")), make("dd", {}, ...found.feeds.flatMap((one) => [untrusted(one.name), ", "]).slice(0, -1))] : []),
    ...(found.banned ? [make("dt", {}, _("Banned")), make("dd", { class: "warn-text" }, untrusted(found.ban_text || _("yes")))] : []));
  return [facts, make("nav", { "aria-label": _("Results") }, ...links)];
}

export function openOmnibox(text = "") {
  const field = dialog ? dialog.querySelector("input") : build();
  dialog.showModal();
  if (text) {
    field.value = text;
    field.dispatchEvent(new Event("input"));
  }
  field.select();
}

bind("Ctrl+k", _("Look up anything"), () => openOmnibox());
