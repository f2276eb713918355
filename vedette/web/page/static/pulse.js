// Follows changes while a page is open. Sends a request every 15 seconds while the page is visible,
// and every one to five seconds while something on it is not settled. Updates the count of open
// alerts, announces new alerts above the queue (which never moves by itself), reports a store that
// rejects telemetry and a server that does not respond, and tracks the state of each element that
// follows an object (data-follow, data-version). Reloads an element if the server has another
// version. A change in this tab makes all tabs poll.

import { failed, noAnswer } from "./api.js";
import { make, meta, number, say } from "./dom.js";
import { bind } from "./keys.js";
import { timeText } from "./time.js";

const EVERY_MS = 15_000;
const MOVING_MS = 5_000; // maximum interval while an element is not settled
const SOON_MS = 1_000;
const FIRST_MS = 2_000; // the page's own requests come first
const AWAY_MS = 3_000;
const FOLLOWED_MAX = 200; // limit of the server
const HOME_BEATS = 4; // of EVERY_MS until tiles reload
const state = document.documentElement.dataset;
const bar = document.getElementById("news");
const tabs = new BroadcastChannel("vedette");
const read = new Map(); // id of an element → the requested version
let asked = ""; // address of the last response
let tag = "";
let first = null;
let next = 0;
let pace = SOON_MS;
let beats = 0;
let isDue = false; // something could not be loaded
let running = null;

const followers = () => [...document.querySelectorAll("[data-follow]")];
const beat = () => (running ??= ask().finally(() => ((running = null), plan())));

function plan() {
  clearTimeout(next);
  const isAway = state.away === "true";
  if (document.hidden && !isAway) return;
  const isMoving = isDue || followers().some((one) => "moves" in one.dataset);
  isDue = false;
  next = setTimeout(beat, isAway ? AWAY_MS : isMoving ? pace : EVERY_MS);
  pace = Math.min(pace * 1.5, MOVING_MS);
}

function soon() {
  pace = SOON_MS;
  clearTimeout(next);
  next = setTimeout(beat, SOON_MS / 4);
}

async function ask() {
  const of = [...new Set(followers().map((one) => one.dataset.follow))].slice(0, FOLLOWED_MAX);
  const path = `/api/v1/pulse?of=${encodeURIComponent(of)}`;
  if (path !== asked) tag = "";
  try {
    const answer = await fetch(path, { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {}, signal: AbortSignal.timeout(EVERY_MS) });
    if (answer.status > 500) throw new Error(); // from a proxy in front of the server
    back();
    const isNews = asked && answer.status === 200; // the page is as current as the first response
    if (answer.status === 200) {
      [asked, tag] = [path, answer.headers.get("etag") ?? ""];
      const found = await answer.json();
      show(found);
      await readAgain(found.followed);
    }
    if (isNews || ++beats % HOME_BEATS === 0) document.dispatchEvent(new CustomEvent("moved"));
  } catch {
    away();
  }
}

// The page, with typed and selected content, stays unchanged until the server responds.
function away() {
  if (state.away === "true") return;
  state.away = "true";
  bar.replaceChildren(make("p", { class: "bar broken", role: "alert" }, _`${noAnswer()} since ${timeText(Date.now())}. This page shows data from ${timeText(Number(meta("server-time")))}. Your input is kept.`));
}

function back() {
  if (state.away !== "true") return;
  state.away = "false";
  tag = "";
  bar.replaceChildren();
  say(_("The server is responding again"));
  document.dispatchEvent(new CustomEvent("answered"));
}

function show(found) {
  first ??= { ...found };
  first.open_alerts ??= found.open_alerts;
  const entry = document.querySelector(".nav a[href='/ui/alerts']");
  if (entry) {
    entry.querySelector(".count-badge")?.remove();
    entry.setAttribute("aria-label", _`Alerts, ${number(found.open_alerts)} open`);
    if (found.open_alerts) entry.append(make("span", { class: "count-badge", "aria-hidden": "true" }, found.open_alerts > 999 ? "999+" : found.open_alerts));
  }
  const more = found.open_alerts - first.open_alerts;
  const isNew = found.newest_alert !== first.newest_alert;
  if ((isNew || more) && location.pathname === "/ui/alerts") {
    bar.replaceChildren(make("button", { type: "button", "data-action": "reload" }, more > 0 ? _`Show new alerts (${number(more)})` : _("The queue has changed: reload")));
  } else if (!found.store_accepts) {
    bar.replaceChildren(make("p", { class: "bar broken" }, _("The server is not accepting telemetry. See Data and health.")));
  } else bar.replaceChildren();
}

// Reloads elements whose state is outdated, each from its page or flyout.
async function readAgain(states) {
  const here = location.pathname + location.search;
  const sourceOf = (one) => one.closest("#flyout")?.dataset.from ?? here;
  const stale = followers().filter(({ id, dataset: { follow, version } }) => {
    const now = follow in states ? (states[follow]?.version ?? "") : version;
    return now !== version && read.get(id) !== now && read.set(id, now);
  });
  if (stale.length) pace = SOON_MS;
  for (const from of new Set(stale.map(sourceOf))) {
    const ids = stale.filter((one) => sourceOf(one) === from).map(({ id }) => `#${id}:outerMorph`);
    const focused = document.activeElement;
    const stop = focused.getAttribute("tabindex");
    await htmx.ajax("GET", from, { source: bar, target: bar, swap: "none", selectOOB: `${ids}` });
    if (stop === null || !focused.isConnected) continue;
    focused.setAttribute("tabindex", stop); // set by lists, not by the server
    focused.focus({ preventScroll: true });
  }
}

// Retries failed loads with the next response, unless the object is gone.
function notRead({ detail: { ctx } }) {
  if (ctx?.target !== bar) return;
  if (ctx.response?.status === 404) failed(new Error(_("Not found, or no longer visible to you")));
  else {
    read.clear();
    tag = "";
    isDue = true;
  }
}

if (bar) {
  next = setTimeout(beat, FIRST_MS);
  for (const [where, type] of [[document, "unanswered"], [window, "offline"], [window, "online"]]) where.addEventListener(type, beat);
  // The change that leaves this page may remove objects that it shows.
  addEventListener("beforeunload", () => {
    clearTimeout(next);
    next = setTimeout(beat, EVERY_MS);
  });
  document.addEventListener("visibilitychange", () => document.hidden || beat());
  document.addEventListener("changed", () => {
    delete first?.open_alerts; // changes by this tab are not news
    tabs.postMessage("");
    soon();
  });
  tabs.onmessage = soon;
  for (const type of ["htmx:response:error", "htmx:error"]) document.addEventListener(type, notRead);
  bind("g n", _("Show new alerts"), () => document.querySelector("#news button")?.click());
}
