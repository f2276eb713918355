// The rail of facets next to a list: visibility, keys, rare values.

import { isTyping, setParameter } from "./dom.js";
import { bind } from "./keys.js";

const narrow = matchMedia("(max-width: 900px)"); // facets cover the list when shown

document.addEventListener("click", ({ target }) => {
  const toggle = target.closest("[data-action=toggle-facets]");
  if (toggle) {
    const on = toggle.getAttribute("aria-pressed") !== "true";
    const rail = document.getElementById("facets");
    toggle.setAttribute("aria-pressed", on);
    rail.hidden = !on;
    rail.toggleAttribute("data-open", on);
    if (!narrow.matches) {
      setParameter("rail", on ? "" : "off");
      const kept = document.querySelector("input[name=rail]");
      if (kept) kept.value = on ? "" : "off";
    }
  }
  const end = target.closest("[data-rare], [data-more]");
  if (end) end.closest(".facet").querySelector("[data-rare]").setAttribute("aria-pressed", end.matches("[data-rare]"));
});

// In the facets, letters act on the focused value.
document.addEventListener("keydown", (event) => {
  const value = event.target.closest?.(".facet [data-field]");
  if (!value || isTyping(event.target)) return;
  const how = { "+": "include", "-": "exclude", o: "only" }[event.key];
  if (how) value.querySelector(`[data-narrow=${how}]`).click();
  else if (event.key === "r" || event.key === "m") value.closest(".facet").querySelector(event.key === "r" ? "[data-rare]" : "[data-more]")?.click();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const all = [...document.querySelectorAll(".facet [data-field]")];
    const next = all[all.indexOf(value) + (event.key === "ArrowDown" ? 1 : -1)];
    next?.querySelector("[data-narrow]").focus();
  } else return;
  event.preventDefault();
  event.stopPropagation();
});

const note = () => narrow.matches && document.querySelector("[data-action=toggle-facets]")?.setAttribute("aria-pressed", !!document.querySelector("#facets[data-open]"));

note();
document.addEventListener("content", note);
if (document.querySelector("[data-rare], #search")) {
  bind("m", _("Show all values of the focused facet"), () => false);
  bind("r", _("Show rare values of the first facet"), () => document.querySelector(".facet [data-rare]")?.click());
}
