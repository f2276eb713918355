// A filter is checked before it can be saved: what it would drop of the last day, and what would go
// blind, each of which has to be ticked.

import { attempt, call } from "./api.js";
import { openDialog } from "./app.js";
import { make, number } from "./dom.js";
import { bodyOf } from "./forms.js";
import { untrusted } from "./untrusted.js";

const form = document.querySelector("form[data-blind]");
const place = document.querySelector("[data-check]");
const save = form?.querySelector("[data-save]");
const PAGES = { watchlist: "/ui/watchlists/", feed: "/ui/feeds/", rule: "/ui/sigma/" };
let waiting = 0;
let latest = 0;

async function check() {
  const [body] = [bodyOf(form)].flat();
  if (!Object.entries(body).some(([name, value]) => name.endsWith("_filters") && value.length)) return;
  const mine = ++latest;
  save.disabled = true;
  place.setAttribute("aria-busy", "true");
  place.replaceChildren(_("Checking against the last day …"));
  try {
    const found = await call("POST", "/api/v1/ingress_approvedlist?dry_run=true", [{ ...body, name: body.name || "new" }]);
    if (mine === latest) show(found);
  } catch (error) {
    if (mine === latest) place.replaceChildren(make("p", { class: "bar broken" }, untrusted(error.message)));
  } finally {
    if (mine === latest) place.removeAttribute("aria-busy");
  }
}

function show({ filters: [trial], blinded }) {
  const share = (part) => _`${(part * 100).toFixed(1)} % of the last day${trial.partial ? _(", of a part of it") : ""}`;
  place.replaceChildren(
    make("dl", { class: "facts" },
      make("dt", {}, _("Processes")), make("dd", {}, `${number(trial.processes_meant)}, ${share(trial.process_share)}`),
      make("dt", {}, _("Events dropped")), make("dd", {}, `${number(trial.events_dropped)}, ${share(trial.event_share)}`)),
    ...blinded.map((one) => make("label", { class: "check warn-text" }, make("input", { type: "checkbox" }), make("span", {}, _`Goes blind: ${one.kind} `, make("a", { href: `${PAGES[one.kind]}${encodeURIComponent(one.id)}` }, untrusted(one.name)), _`, ${number(one.hits)} hits`))),
    blinded.length ? "" : make("p", { class: "good-text" }, _("No rule and no watchlist goes blind.")));
  ready();
}

const ready = () => (save.disabled = [...place.querySelectorAll("input")].some((one) => !one.checked));

if (form) {
  form.addEventListener("input", (event) => {
    if (!event.target.matches("textarea, select, [data-type=flag]")) {
      if (event.target.closest("[data-check]") === null && place.querySelector("dl")) ready();
      return;
    }
    clearTimeout(waiting);
    save.disabled = true;
    waiting = setTimeout(() => attempt(check), 500);
  });
  place.addEventListener("change", ready);
  document.querySelector("[data-check-now]")?.addEventListener("click", () => attempt(check));
  const dialog = form.closest("dialog");
  dialog?.addEventListener("opened", () => attempt(check));
  if (document.querySelector("[data-open-now]")) openDialog(dialog);
  else if (!dialog) attempt(check);
}
