// The dialog of a ban: where the programs run, before they are banned.

import { ApiError, attempt, call } from "./api.js";
import { icon, make, number } from "./dom.js";
import { untrusted } from "./untrusted.js";

const form = document.querySelector("form[data-reach]");
const place = form?.querySelector("[data-reach-of]");
let waiting = 0;

async function look() {
  const hashes = form.elements.md5hashes.value.split(/[\s,;]+/).filter(Boolean);
  if (!hashes.length) return;
  try {
    const found = await call("POST", "/api/v1/banning/bannedlist", { md5hashes: hashes, dry_run: true });
    place.replaceChildren(table(found.programs));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    place.replaceChildren(make("p", { class: "bar broken" }, untrusted(error.message)));
  }
}

function table(programs) {
  const rows = programs.map((one) =>
    make("tr", {},
      make("td", {}, one.paths.length ? untrusted(one.paths[0]) : make("span", { class: "meta" }, _("not known")), make("br"), make("code", {}, one.md5hash.slice(0, 12), "…")),
      make("td", { class: "num" }, number(one.hosts)),
      make("td", { class: "num" }, number(one.running.length)),
      make("td", {}, one.protected ? make("span", { class: "warn-text" }, icon("warning"), _(" protected")) : one.banned ? _("banned already") : untrusted(one.publisher || one.signature || "–"))));
  return make("table", {}, make("thead", {}, make("tr", {}, make("th", {}, _("Program")), make("th", { class: "num" }, _("Hosts")), make("th", { class: "num" }, _("Runs on")), make("th", {}, _("Signed by")))), make("tbody", {}, ...rows));
}

if (form) {
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => attempt(look), 300);
  });
  form.closest("dialog").addEventListener("opened", () => attempt(look));
}
