// What every page does: keys, times, lists, flyout, menus, what happens when an answer fails.

import { attempt, call, failed, get, signInAgain, signOut } from "./api.js";
import { copyMenu } from "./copy.js";
import { make, meta } from "./dom.js";
import { closeFlyout, startFlyout } from "./flyout.js";
import { prepareGrids, startGrids } from "./grid.js";
import { bind, help, startKeys } from "./keys.js";
import { closeMenu, openMenu, startMenus } from "./menu.js";
import { openOmnibox } from "./omnibox.js";
import { adopt, all, prefer, preference } from "./preferences.js";
import "./pulse.js";
import { showTimes, switchZone } from "./time.js";

const next = (name, values) => () => prefer(name, values[(values.indexOf(preference(name)) + 1) % values.length]);

const ACTIONS = {
  zone: () => switchZone(),
  "copy-menu": (anchor) => copyMenu(anchor),
  help: () => help(),
  omnibox: () => openOmnibox(),
  reload: () => location.reload(),
  print: () => print(),
  "user-menu": (anchor) =>
    openMenu(anchor, [
      { label: `Theme: ${preference("theme")}`, key: "t", act: next("theme", ["system", "light", "dark"]) },
      { label: `Rows: ${preference("density")}`, key: "r", act: next("density", ["default", "compact", "roomy"]) },
      { label: `Single keys: ${preference("keys") ? "on" : "off"}`, key: "k", act: () => prefer("keys", !preference("keys")) },
      { label: "API documentation", href: "/docs" },
      { label: "Sign out", key: "o", act: () => attempt(signOut) },
    ]),
};

function startActions() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-action]");
    const act = button && ACTIONS[button.dataset.action];
    if (act) act(button);
    const opener = event.target.closest("[data-dialog]");
    if (opener && opener.getAttribute("aria-disabled") !== "true") openDialog(document.getElementById(opener.dataset.dialog));
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog").close();
  });
}

export function openDialog(dialog) {
  dialog.showModal();
  dialog.querySelector("[data-first]")?.focus();
  dialog.dispatchEvent(new CustomEvent("opened", { bubbles: true }));
}

// No answer at all: said where it was waited for, with a way on; what is there stays.
function unanswered(place) {
  const text = `The server did not answer${navigator.onLine ? "" : ": this computer is offline"}`;
  if (!place) failed(new Error(text));
  else place.replaceWith(make("div", { class: "state error", role: "alert" }, make("p", {}, text), make("button", { type: "button", "data-action": "reload" }, "Try again")));
}

function startAnswers() {
  document.addEventListener("htmx:after:swap", () => {
    showTimes();
    prepareGrids();
    document.dispatchEvent(new CustomEvent("content"));
  });
  document.addEventListener("htmx:error", ({ detail }) => unanswered(detail.ctx?.sourceElement?.querySelector(".skeleton")));
  document.addEventListener("session-ended", () => signInAgain().then(() => location.reload()));
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

// Preferences follow the user: what is set is kept by the server, and read once for each tab.
function startPreferences() {
  document.addEventListener("preference", () => attempt(() => call("PUT", "/api/v1/me/preferences", all())));
  if (!meta("user") || sessionStorage.getItem("adopted") === meta("user")) return;
  sessionStorage.setItem("adopted", meta("user"));
  get("/api/v1/me/preferences").then((kept) => {
    adopt(kept);
    showTimes();
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
startAnswers();
startFlyout();
startPreferences();
showTimes();
bind("Escape", "", () => {
  if (document.querySelector("dialog[open]")) return false;
  closeMenu();
  return closeFlyout();
});
bind("Ctrl+z", "Undo the last change", undoLast);
document.documentElement.dataset.ready = "true";
