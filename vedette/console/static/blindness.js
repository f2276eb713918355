// A filter is checked before it can be saved: what it would drop of the last day, and what would go
// blind, each of which has to be ticked.

import { attempt, call } from "./api.js";
import { openDialog } from "./app.js";
import { make, number } from "./dom.js";
import { bodyOf } from "./forms.js";
import { untrusted } from "./untrusted.js";

const form = document.querySelector("form[data-blind]");
const place = form?.querySelector("[data-check]");
const save = form?.querySelector("[data-save]");
let waiting = 0;
let latest = 0;

async function check() {
  const [body] = bodyOf(form);
  if (!body.path_filters && !body.md5_filters) return;
  const mine = ++latest;
  place.replaceChildren("Checking against the last day …");
  const found = await call("POST", "/api/v1/ingress_approvedlist?dry_run=true", [{ ...body, name: body.name || "new" }]);
  if (mine === latest) show(found);
}

function show({ filters: [trial], blinded }) {
  const share = (part) => `${(part * 100).toFixed(1)} % of the last day${trial.partial ? ", of a part of it" : ""}`;
  place.replaceChildren(
    make("dl", { class: "facts" },
      make("dt", {}, "Processes"), make("dd", {}, `${number(trial.processes_meant)}, ${share(trial.process_share)}`),
      make("dt", {}, "Events dropped"), make("dd", {}, `${number(trial.events_dropped)}, ${share(trial.event_share)}`)),
    ...blinded.map((one) => make("label", { class: "check warn-text" }, make("input", { type: "checkbox" }), make("span", {}, `Goes blind: ${one.kind} `, untrusted(one.name), `, ${number(one.hits)} hits`))),
    blinded.length ? "" : make("p", { class: "good-text" }, "No rule and no watchlist goes blind."));
  ready();
}

const ready = () => (save.disabled = [...place.querySelectorAll("input")].some((one) => !one.checked));

if (form) {
  form.addEventListener("input", (event) => {
    if (!event.target.matches("textarea")) return;
    clearTimeout(waiting);
    save.disabled = true;
    waiting = setTimeout(() => attempt(check), 500);
  });
  place.addEventListener("change", ready);
  form.closest("dialog").addEventListener("opened", () => attempt(check));
  if (document.querySelector("[data-open-now]")) openDialog(form.closest("dialog"));
}
