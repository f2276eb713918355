// What changed while a page is open, every 15 seconds while somebody sees it: open alerts beside
// their entry, update jobs that moved on, new ones over the queue (which never moves by itself), a store that takes nothing, a
// server that does not answer.

import { noAnswer } from "./api.js";
import { make, meta, number, say } from "./dom.js";
import { bind } from "./keys.js";
import { timeText } from "./time.js";

const EVERY_MS = 15_000;
const FIRST_MS = 2_000; // what the page itself asks for comes first
const AWAY_MS = 3_000;
const state = document.documentElement.dataset;
const bar = document.getElementById("news");
let tag = "";
let first = null;
let next = 0;

async function beat() {
  clearTimeout(next);
  next = setTimeout(beat, EVERY_MS);
  if (document.hidden && state.away !== "true") return;
  try {
    const answer = await fetch("/api/v1/pulse", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {}, signal: AbortSignal.timeout(EVERY_MS) });
    if (answer.status > 500) throw new Error(); // of what stands before the server
    back();
    if (answer.status !== 200) return;
    tag = answer.headers.get("etag") ?? "";
    show(await answer.json());
  } catch {
    away();
  }
}

// The page stays as it is, with what was typed and selected on it, until the server answers.
function away() {
  clearTimeout(next);
  next = setTimeout(beat, AWAY_MS);
  if (state.away === "true") return;
  state.away = "true";
  bar.replaceChildren(make("p", { class: "bar broken", role: "alert" }, _`${noAnswer()} since ${timeText(Date.now())}. What is here is of ${timeText(Number(meta("server-time")))}, and stays with what you typed and selected. The server is asked again every ${AWAY_MS / 1000} seconds.`));
}

function back() {
  if (state.away !== "true") return;
  state.away = "false";
  tag = "";
  bar.replaceChildren();
  say(_("The server answers again"));
  document.dispatchEvent(new CustomEvent("answered"));
}

function show(found) {
  first ??= found;
  const entry = document.querySelector(".nav a[href='/ui/alerts']");
  if (entry) {
    entry.querySelector(".count-badge")?.remove();
    entry.setAttribute("aria-label", _`Alerts, ${number(found.open_alerts)} open`);
    if (found.open_alerts) entry.append(make("span", { class: "count-badge", "aria-hidden": "true" }, found.open_alerts > 999 ? "999+" : found.open_alerts));
  }
  if (found.newest_alert !== first.newest_alert && location.pathname === "/ui/alerts") {
    const more = found.open_alerts - first.open_alerts;
    bar.replaceChildren(make("button", { type: "button", "data-action": "reload" }, more > 0 ? _`${number(more)} new alerts: show` : _("There are new alerts: show")));
  } else if (location.pathname.startsWith("/ui/jobs") && JSON.stringify(found.jobs) !== JSON.stringify(first.jobs)) {
    bar.replaceChildren(make("button", { type: "button", "data-action": "reload" }, _("The jobs have moved on: show")));
  } else if (!found.store_accepts) {
    bar.replaceChildren(make("p", { class: "bar broken" }, _("The store takes no telemetry now: senders keep it. Data and health says why.")));
  } else bar.replaceChildren();
}

if (bar) {
  next = setTimeout(beat, FIRST_MS);
  for (const [where, type] of [[document, "unanswered"], [window, "offline"], [window, "online"]]) where.addEventListener(type, beat);
  bind("g n", _("Show new alerts"), () => document.querySelector("#news button")?.click());
}
