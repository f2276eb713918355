// The single menu of the page: for copies, the account, a row. Arrows move, Esc returns.

import { make } from "./dom.js";

let opener = null;

// Entries: {label, key, act} or {label, href}, or a string as a note.
export function openMenu(anchor, entries, place = null) {
  const menu = document.getElementById("menu");
  opener = document.activeElement === document.body ? anchor : document.activeElement;
  menu.replaceChildren(
    ...entries.map((one) => {
      if (typeof one === "string") return make("p", {}, one);
      const key = one.key ? make("kbd", {}, one.key) : null;
      if (one.href) return make("a", { role: "menuitem", tabindex: -1, href: one.href }, one.label, key);
      const act = () => {
        closeMenu();
        one.act();
      };
      return make("button", { type: "button", role: "menuitem", tabindex: -1, "data-menu-key": one.key, onclick: act }, one.label, key);
    }),
  );
  menu.hidden = false;
  const at = place ?? anchor.getBoundingClientRect();
  const size = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  menu.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - size.height - 8))}px`;
  menu.querySelector("[role=menuitem]")?.focus();
}

export function closeMenu() {
  const menu = document.getElementById("menu");
  if (!menu || menu.hidden) return;
  menu.hidden = true;
  opener?.focus();
}

function onKey(event) {
  const items = [...event.currentTarget.querySelectorAll("[role=menuitem]")];
  const at = items.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) items[(at + step + items.length) % items.length].focus();
  else if (event.key === "Home") items[0].focus();
  else if (event.key === "End") items.at(-1).focus();
  else if (event.key === "Escape" || event.key === "Tab") closeMenu();
  else {
    const wanted = items.find((one) => one.dataset.menuKey === event.key);
    if (!wanted) return event.key.length === 1 && event.stopPropagation();
    wanted.click();
  }
  if (event.key !== "Enter" && event.key !== " ") event.preventDefault();
  event.stopPropagation();
  return undefined;
}

export function startMenus() {
  const menu = document.getElementById("menu");
  menu?.addEventListener("keydown", onKey);
  document.addEventListener("pointerdown", (event) => !menu?.hidden && !menu.contains(event.target) && closeMenu());
}
