// What changed while a page is open, every 15 seconds while somebody sees it: open alerts beside
// their entry, new ones over the queue (which never moves by itself), a store that takes nothing.

import { make, number } from "./dom.js";
import { bind } from "./keys.js";

const EVERY_MS = 15_000;
const FIRST_MS = 2_000; // what the page itself asks for comes first
let tag = "";
let first = null;

async function beat() {
  if (document.hidden) return;
  const answer = await fetch("/api/v1/pulse", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
  if (answer.status !== 200) return;
  tag = answer.headers.get("etag") ?? "";
  show(await answer.json());
}

function show(found) {
  first ??= found;
  const entry = document.querySelector(".nav a[href='/ui/alerts']");
  if (entry) {
    entry.querySelector(".count-badge")?.remove();
    entry.setAttribute("aria-label", `Alerts, ${number(found.open_alerts)} open`);
    if (found.open_alerts) entry.append(make("span", { class: "count-badge", "aria-hidden": "true" }, found.open_alerts > 999 ? "999+" : found.open_alerts));
  }
  const bar = document.getElementById("news");
  if (found.newest_alert !== first.newest_alert && location.pathname === "/ui/alerts") {
    const more = found.open_alerts - first.open_alerts;
    bar.replaceChildren(make("button", { type: "button", "data-action": "reload" }, `${more > 0 ? `${number(more)} new alerts` : "There are new alerts"}: show`));
  } else if (!found.store_accepts) {
    bar.replaceChildren(make("p", { class: "bar broken" }, "The store takes no telemetry now: senders keep it. Data and health says why."));
  } else bar.replaceChildren();
}

if (document.getElementById("news")) {
  const quietly = () => beat().catch(() => {}); // an answer that is missing is said where it is waited for
  setTimeout(quietly, FIRST_MS);
  setInterval(quietly, EVERY_MS);
  bind("g n", "Show new alerts", () => document.querySelector("#news button")?.click());
}
