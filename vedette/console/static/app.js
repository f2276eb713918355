// What every page does: keys, times, lists, flyout, menus, what happens when an answer fails.

import { attempt, call, failed, noAnswer, signInAgain, signOut } from "./api.js";
import { copyMenu } from "./copy.js";
import { icon, make, meta } from "./dom.js";
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
const SHOWN = { system: _("system"), light: _("light"), dark: _("dark"), default: _("default"), compact: _("compact"), roomy: _("roomy") };
const { lang, dataset: { languages } } = document.documentElement; // of the page, of the server

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
      { label: _`Rows: ${SHOWN[preference("density")]}`, key: "r", act: next("density", ["default", "compact", "roomy"]) },
      { label: _`Single keys: ${preference("keys") ? _("on") : _("off")}`, key: "k", act: () => prefer("keys", !preference("keys")) },
      { label: _("Language: English"), key: "l", act: () => attempt(nextLanguage) },
      { label: _("API documentation"), href: "/docs" },
      { label: _("Sign out"), key: "o", act: () => attempt(signOut) },
    ]),
};

function startActions() {
  for (const type of ["click", "submit"]) document.addEventListener(type, stayWhileAway, true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    const act = button && ACTIONS[button.dataset.action];
    if (act) act(button);
    const opener = event.target.closest("[data-dialog]");
    if (opener && opener.getAttribute("aria-disabled") !== "true") openDialog(document.getElementById(opener.dataset.dialog));
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog").close();
  });
}

// While the server does not answer, nothing leaves the page: it could not come back to it.
function stayWhileAway(event) {
  const leaves = event.type === "submit" ? "form[method=get]" : "a[href]:not([target]):not([download])";
  if (document.documentElement.dataset.away !== "true" || !event.target.closest(leaves)) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  failed(new Error(_`${noAnswer()}: this page stays until it does`));
}

export function openDialog(dialog) {
  dialog.showModal();
  dialog.querySelector("[data-first]")?.focus();
  dialog.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
}

const failures = new WeakMap(); // the region that says what failed → what asks again

// Asks for a part once more: a form with what stands in it now.
const askAgain = ({ sourceElement: source, target, swap, request }) => () =>
  source.matches("form") ? source.requestSubmit() : source.matches("a") ? source.click() : htmx.ajax("GET", request.action, { source, target, swap });

const overOf = (place) => place?.parentElement?.querySelector(":scope > .error");

// An answer that failed: what is there stays, and what happened stands over it, with a way on. Where
// nothing is there yet, it takes the place.
function startFailures() {
  document.addEventListener("htmx:response:error", ({ detail: { ctx } }) => {
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
    if (!ctx?.target) return;
    document.dispatchEvent(new CustomEvent("unanswered"));
    const found = make("div", { class: "state error", role: "alert" }, make("h2", {}, icon("warning"), ` ${noAnswer()}`), make("p", {}, make("button", { type: "button", "data-action": "reload" }, _("Try again"))));
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

// A search that takes more than a second says for how long it has been, and can be left.
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

// Preferences follow the user: what is set is kept by the server, and read once for each tab. They
// are sent in turn: the one that comes last stays, also where the page is left before it was sent.
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
// Keys act on the list at once, and a reader sees where.
if (document.activeElement === document.body) document.querySelector("[autofocus], [data-grid] tr[data-row], #events")?.focus({ preventScroll: true });
bind("Escape", "", () => {
  if (document.querySelector("dialog[open]")) return false;
  closeMenu();
  return closeFlyout();
});
// Arrows go from tile to tile.
document.addEventListener("keydown", (event) => {
  const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  const tiles = [...document.querySelectorAll(".tile h2 a")];
  const at = tiles.indexOf(document.activeElement);
  if (!by || at < 0) return;
  event.preventDefault();
  tiles[(at + by + tiles.length) % tiles.length].focus();
});
bind("Ctrl+z", _("Undo the last change"), undoLast);
addEventListener("DOMContentLoaded", () => (document.documentElement.dataset.ready = "true")); // the page's own modules have run as well
