// The flyout: details of a row next to the list. It is not modal: Enter moves into it, Esc returns
// to the row, arrows in the list update it. Rows have its address in data-flyout.

import { parameter, setParameter } from "./dom.js";

let row = null;

const place = () => document.getElementById("flyout");

export const isOpen = () => !place().hidden;

export async function openFlyout(opener, { focus = true } = {}) {
  const flyout = place();
  row?.classList.remove("open");
  row = opener;
  row.classList.add("open");
  flyout.hidden = false;
  flyout.dataset.from = row.dataset.flyout;
  document.body.classList.add("with-flyout");
  flyout.setAttribute("aria-busy", "true");
  const wanted = row;
  await htmx.ajax("GET", row.dataset.flyout, { target: "#flyout", source: flyout, swap: "innerHTML" });
  flyout.removeAttribute("aria-busy");
  if (row !== wanted) return;
  if (row.dataset.view) setParameter("d", row.dataset.view);
  if (focus) flyout.querySelector("h2, [tabindex]")?.focus();
}

export function closeFlyout() {
  const flyout = place();
  if (flyout.hidden) return false;
  const back = flyout.contains(document.activeElement) || document.activeElement === document.body;
  flyout.hidden = true;
  flyout.replaceChildren();
  document.body.classList.remove("with-flyout");
  row?.classList.remove("open");
  if (back) row?.focus();
  setParameter("d", "");
  return true;
}

export function startFlyout() {
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-close-flyout]")) closeFlyout();
  });
  const wanted = parameter("d");
  if (!wanted) return;
  const found = [...document.querySelectorAll("[data-view]")].find((one) => one.dataset.view === wanted);
  if (found) openFlyout(found, { focus: false });
}
