// Ctrl+K: paste anything, see what it is and what is known of it, go there.

import { ApiError, attempt, get } from "./api.js";
import { make, many, number } from "./dom.js";
import { bind } from "./keys.js";
import { untrusted } from "./untrusted.js";

let dialog = null;
let waiting = 0;
let latest = 0;
let shown = null; // the text that the answer on the page is about

function build() {
  const field = make("input", { type: "text", class: "mono", "aria-label": _("Look up"), placeholder: _("Hash, address, domain, path, host, process, rule or alert"), autocomplete: "off", spellcheck: "false" });
  const place = make("div", { class: "looked", "aria-live": "polite" });
  dialog = make("dialog", { id: "omnibox", "aria-label": _("Look anything up") }, make("form", { method: "dialog" }, field, place));
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
  if (found.kind === "process" && found.processes) links.push(make("a", { href: `/ui/process/${encodeURIComponent(found.value.slice(0, 36))}` }, _("Analyse the process")));
  const program = { md5: _("The program with this MD5"), sha256: _("The program with this SHA-256") }[found.kind];
  if (program && !found.targets.some((one) => one.kind === "alert")) links.push(make("a", { href: `/ui/binary/${found.value}` }, program));
  links.push(make("a", { href: `/ui/process?q=${encodeURIComponent(found.query)}` }, _`${many(found.processes, _("process"), _("processes"))} on ${many(found.host_count, _("host"), _("hosts"))}`));
  if (found.alerts) links.push(make("a", { href: `/ui/alerts?q=${encodeURIComponent(found.alert_query)}` }, _`${many(found.alerts, _("alert"), _("alerts"))}, ${number(found.open_alerts)} open`));
  const time = (text) => (text ? `${text.slice(0, 19).replace("T", " ")}Z` : _("never"));
  const facts = make("dl", { class: "facts" },
    make("dt", {}, _("Is")), make("dd", {}, found.kind, " ", untrusted(found.value)),
    make("dt", {}, _("Seen")), make("dd", {}, found.processes ? _`${time(found.first_seen)} to ${time(found.last_seen)}` : _("never, on the hosts that you see")),
    ...(found.hosts.length ? [make("dt", {}, _("Hosts")), make("dd", {}, ...found.hosts.slice(0, 6).flatMap((one) => [untrusted(one.name), ", "]).slice(0, -1))] : []),
    ...(found.feeds.length ? [make("dt", {}, _("Feeds")), make("dd", {}, ...found.feeds.flatMap((one) => [untrusted(one.name), ", "]).slice(0, -1))] : []),
    ...(found.banned ? [make("dt", {}, _("Banned")), make("dd", { class: "warn-text" }, untrusted(found.ban_text || _("yes")))] : []));
  return [facts, make("nav", { "aria-label": _("What was found") }, ...links)];
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

bind("Ctrl+k", _("Look anything up"), () => openOmnibox());
