// Behavior of every page: keys, times, lists, flyout, menus, and handling of failed responses.

import { ApiError, attempt, call, done, failed, get, noAnswer, signInAgain, signOut } from "./api.js";
import { copyMenu } from "./copy.js";
import { icon, make, meta, saveAs } from "./dom.js";
import { closeFlyout, startFlyout } from "./flyout.js";
import { prepareGrids, startGrids } from "./grid.js";
import { bind, help, startKeys } from "./keys.js";
import { closeMenu, openMenu, startMenus } from "./menu.js";
import { openOmnibox } from "./omnibox.js";
import { adoptKept, all, keepAll, prefer, preference } from "./preferences.js";
import "./pulse.js";
import { startSplitters } from "./splitter.js";
import { showTimes, switchZone } from "./time.js";

const next = (name, values) => () => prefer(name, values[(values.indexOf(preference(name)) + 1) % values.length]);
const SHOWN = { system: _("system"), light: _("light"), dark: _("dark"), default: _("default"), compact: _("compact"), roomy: _("comfortable") };
const { lang, dataset: { languages } } = document.documentElement; // languages of the page and of the server

async function nextLanguage() {
  const known = languages.split(" ");
  await keepAll({ language: known[(known.indexOf(lang) + 1) % known.length] });
  location.reload();
}

const ACTIONS = {
  zone: () => switchZone(),
  "copy-menu": (anchor) => copyMenu(anchor),
  help: () => help(),
  omnibox: () => openOmnibox(),
  reload: (button) => (failures.get(button.closest(".error")) ?? (() => location.reload()))(),
  print: () => print(),
  "user-menu": (anchor) =>
    openMenu(anchor, [
      { label: _`Theme: ${SHOWN[preference("theme")]}`, key: "t", act: next("theme", ["system", "light", "dark"]) },
      { label: _`Row density: ${SHOWN[preference("density")]}`, key: "r", act: next("density", ["default", "compact", "roomy"]) },
      { label: _`Single-key shortcuts: ${preference("keys") ? _("on") : _("off")}`, key: "k", act: () => prefer("keys", !preference("keys")) },
      { label: _("Language: English"), key: "l", act: () => attempt(nextLanguage) },
      { label: _("API documentation"), href: "/docs" },
      { label: _("Sign out"), key: "o", act: () => attempt(signOut) },
    ]),
};

function startActions() {
  for (const type of ["click", "submit"]) {
    document.addEventListener(type, stayWhileAway, true);
    document.addEventListener(type, download);
  }
  document.addEventListener("click", explain, true);
  addEventListener("unhandledrejection", (event) => {
    if (event.reason instanceof ApiError) event.preventDefault();
    failed(event.reason);
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    const act = button && ACTIONS[button.dataset.action];
    if (act) act(button);
    const opener = event.target.closest("[data-dialog]");
    if (opener) openDialog(document.getElementById(opener.dataset.dialog));
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog").close();
  });
}

// While the server does not respond, nothing navigates away: the browser could not return to the
// page.
function stayWhileAway(event) {
  const leaves = event.type === "submit" ? "form[method=get]" : "a[href]:not([target]):not([download])";
  if (document.documentElement.dataset.away !== "true" || !event.target.closest(leaves)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  failed(new Error(_`${noAnswer()}. This page stays open until it responds`));
}

// A disabled button explains why, also when it is pressed.
function explain(event) {
  const off = event.target.closest("[aria-disabled=true]");
  if (!off) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (off.title) done(off.title);
}

// Downloads a file of the API by script, so that an error is shown without leaving the page.
function download(event) {
  const link = event.type === "click" ? event.target.closest("a[download]") : event.target.closest("form[method=get][action^='/api/']");
  if (!link || event.defaultPrevented) return;
  event.preventDefault();
  attempt(async () => {
    const from = new URL(link.href ?? link.action);
    if (!link.href) from.search = new URLSearchParams(new FormData(link));
    const answer = await get(from.href, { file: true });
    const name = /filename="?([^";]+)/.exec(answer.headers.get("content-disposition"))?.[1] ?? from.pathname.split("/").pop();
    saveAs(name, await answer.blob());
    done(_`${name} saved`);
  });
}

export function openDialog(dialog) {
  dialog.showModal();
  dialog.querySelector("[data-first]")?.focus();
  dialog.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
}

const failures = new WeakMap(); // the region that shows a failure → the function that retries

// Requests a part again; a form with its current values.
const askAgain = ({ sourceElement: source, target, swap, request }) => () =>
  source.matches("form") ? source.requestSubmit() : source.matches("a") ? source.click() : htmx.ajax("GET", request.action, { source, target, swap });

const overOf = (place) => place?.parentElement?.querySelector(":scope > .error");

// A failed response keeps the content and shows the error above it, with a way to continue. If
// there is no content yet, the error takes its place.
function startFailures() {
  document.addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
    if (ctx.swap === "none") return; // handled by pulse.js
    ctx.again = askAgain({ ...ctx });
    if (ctx.target.querySelector(".skeleton, .error") || !ctx.target.childElementCount) ctx.swap = "innerHTML";
    else {
      overOf(ctx.target)?.remove();
      Object.assign(ctx, { swap: ctx.target.id === "flyout" ? "afterbegin" : "beforebegin", push: "false", replace: "false", title: "" });
    }
  });
  document.addEventListener("htmx:before:swap", ({ detail: { ctx } }) => ctx.again || overOf(ctx.target)?.remove());
  document.addEventListener("htmx:after:swap", ({ detail: { ctx } }) => {
    const found = ctx.again && (overOf(ctx.target) ?? ctx.target.querySelector(".error"));
    if (found) failures.set(found, ctx.again);
  });
  document.addEventListener("htmx:error", ({ detail: { ctx } }) => {
    if (!ctx?.target || ctx.swap === "none") return;
    document.dispatchEvent(new CustomEvent("unanswered"));
    const found = make("div", { class: "state error", role: "alert" }, make("h2", {}, icon("warning"), ` ${noAnswer()}`), make("p", {}, make("button", { type: "button", "data-action": "reload" }, _("Retry"))));
    failures.set(found, askAgain({ ...ctx }));
    const empty = ctx.target.querySelector(".skeleton, .error");
    if (empty) empty.replaceWith(found);
    else if (ctx.target.id === "flyout") ctx.target.prepend(found);
    else {
      overOf(ctx.target)?.remove();
      ctx.target.before(found);
    }
  });
}

// A search that takes more than a second shows its elapsed time and can be cancelled.
function startWaiting() {
  document.addEventListener("htmx:before:request", ({ detail: { ctx } }) => {
    if (ctx.target?.id !== "results") return;
    const began = Date.now();
    const time = make("span");
    const bar = make("p", { class: "bar" }, time, " ", make("button", { type: "button", "data-action": "cancel", onclick: () => ctx.request.abort() }, _("Cancel")));
    const timer = setInterval(() => {
      time.textContent = _`Searching for ${Math.round((Date.now() - began) / 1000)} s`;
      if (!bar.isConnected) ctx.target.before(bar);
    }, 1000);
    ctx.answered = () => {
      clearInterval(timer);
      bar.remove();
    };
  });
  document.addEventListener("htmx:finally:request", ({ detail: { ctx } }) => ctx.answered?.());
}

function startAnswers() {
  document.addEventListener("htmx:after:swap", () => {
    showTimes();
    prepareGrids();
    document.dispatchEvent(new CustomEvent("content"));
  });
  document.addEventListener("session-ended", () => signInAgain().then(() => {
    const waiting = [...document.querySelectorAll(".error")].filter((one) => failures.has(one));
    for (const one of waiting) {
      failures.get(one)();
      failures.delete(one);
    }
  }));
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

// Preferences follow the user: the server stores them, and each tab reads them once. They are sent
// in order, so that the last one wins, even if the reader leaves the page before it is sent.
function startPreferences() {
  let sent = Promise.resolve();
  let waiting = 0;
  const send = () => call("PUT", "/api/v1/me/preferences", all(), { keepalive: true });
  document.addEventListener("preference", () => {
    waiting += 1;
    sent = sent.then(() => attempt(send)).then(() => (waiting -= 1));
  });
  addEventListener("change", ({ target }) => target.dataset.prefer && prefer(target.dataset.prefer, target.value));
  addEventListener("pagehide", () => waiting && send().catch(() => {}));
  if (!meta("user") || sessionStorage.getItem("adopted") === meta("user")) return;
  sessionStorage.setItem("adopted", meta("user"));
  adoptKept().then((kept) => {
    showTimes();
    if (kept.language !== lang && languages.split(" ").includes(kept.language)) location.reload();
  }, () => {});
}

function undoLast() {
  const buttons = document.querySelectorAll("#undo [data-undo]");
  if (!buttons.length) return false;
  [...buttons].at(-1).click();
  return true;
}

startKeys();
startMenus();
startGrids();
startActions();
startFailures();
startWaiting();
startAnswers();
startFlyout();
startSplitters();
startPreferences();
showTimes();
// Keys act on the list immediately, and the focus shows where.
if (document.activeElement === document.body) document.querySelector("[autofocus], [data-grid] tr[data-row], #events")?.focus({ preventScroll: true });
bind("Escape", "", () => {
  if (document.querySelector("dialog[open]")) return false;
  closeMenu();
  return closeFlyout();
});
// Arrow keys move between tiles.
document.addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const tiles = [...document.querySelectorAll(".tile h2 a")];
  const at = tiles.indexOf(document.activeElement);
  if (!by || at < 0) return;
  event.preventDefault();
  tiles[(at + by + tiles.length) % tiles.length].focus();
});
bind("Ctrl+z", _("Undo the last change"), undoLast);
addEventListener("DOMContentLoaded", () => (document.documentElement.dataset.ready = "true")); // the page's own modules have run too
