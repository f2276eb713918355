// A filter is checked before it can be saved: what it would drop of the last day, and what would go
// blind, each of which has to be ticked.

import { attempt, call } from "./api.js";
import { openDialog } from "./app.js";
import { make, many, number } from "./dom.js";
import { bodyOf } from "./forms.js";
import { untrusted } from "./untrusted.js";

const form = document.querySelector("form[data-blind]");
const place = document.querySelector("[data-check]");
const save = form?.querySelector("[data-save]");
const PAGES = { watchlist: "/ui/watchlists/", feed: "/ui/feeds/", rule: "/ui/sigma/" };
let waiting = 0;
let missing = []; // what goes blind, as it was shown
let running = null; // the check, to be ended

async function check() {
  const [body] = [bodyOf(form)].flat();
  if (!Object.entries(body).some(([name, value]) => name.endsWith("_filters") && value.length)) return;
  running?.abort();
  const mine = (running = new AbortController());
  save.disabled = true;
  place.setAttribute("aria-busy", "true");
  const far = make("span");
  const bar = make("progress");
  place.replaceChildren(make("label", {}, _("Testing on the last day…"), " ", far, bar));
  const late = setTimeout(() => mine === running && place.append(make("button", { type: "button", onclick: () => mine.abort() }, _("Cancel"))), 1000);
  const told = ({ looking_at: at, done, of }) => {
    if (!of || mine !== running) return;
    Object.assign(bar, { max: of, value: done });
    far.textContent = `${number(done)} / ${number(of)} ${{ processes: _("processes"), watchlists: _("watchlists"), rules: _("hits") }[at]}`;
  };
  try {
    const found = await call("POST", "/api/v1/ingress_approvedlist/check?progress=true", { filters: [{ ...body, name: body.name || "new" }] }, { signal: mine.signal, told });
    if (mine === running) show(found);
  } catch (error) {
    if (mine === running) place.replaceChildren(make("p", { class: "bar broken" }, mine.signal.aborted ? _("Not tested") : untrusted(error.message)), make("button", { type: "button", onclick: () => attempt(check) }, _("Retry")));
  } finally {
    clearTimeout(late);
    if (mine === running) place.removeAttribute("aria-busy");
  }
}

// What is dropped, by one property: those with the most of it.
const split = (label, rows, more, write) => rows.length > 0 && make("section", {}, make("h3", {}, label), make("ul", { class: "plain" },
  ...rows.map((one) => make("li", {}, write(one), " ", make("span", { class: "meta" }, number(one.events)))),
  more > rows.length ? make("li", { class: "meta" }, _`and ${number(more - rows.length)} more`) : ""));

function show({ filters: [trial], blinded }) {
  missing = blinded.map(({ kind, id, name }) => ({ kind, id, name }));
  const share = (part) => _`${(part * 100).toFixed(1)}% of the last day${trial.partial ? _(" (partial data)") : ""}`;
  place.replaceChildren(
    make("dl", { class: "facts" },
      make("dt", {}, _("Processes")), make("dd", {}, `${number(trial.processes_meant)}, ${share(trial.process_share)}`),
      make("dt", {}, _("Events dropped")), make("dd", {}, `${number(trial.events_dropped)}, ${share(trial.event_share)}`)),
    ...blinded.map((one) => make("label", { class: "check warn-text" }, make("input", { type: "checkbox" }), make("span", {}, _`Loses coverage: ${one.kind} `, make("a", { href: `${PAGES[one.kind]}${encodeURIComponent(one.id)}` }, untrusted(one.name)), ", ", make("a", { href: `/ui/alerts?q=${encodeURIComponent(`source:${one.kind} source_id:"${one.id}"`)}&t=-24h` }, many(one.hits, _("hit"), _("hits")))))),
    blinded.length ? "" : make("p", { class: "good-text" }, _("No rule or watchlist loses coverage.")),
    make("div", { class: "splits" }, ...splits(trial)));
  ready();
}

const splits = ({ dropped_by: by, dropped_hosts: hosts, dropped_paths: paths }) => [
  split(_("Type"), by.kind, 0, (one) => make("span", { translate: "no" }, one.name)),
  split(_("Host"), by.host, hosts, (one) => make("a", { href: `/ui/sensors/${one.sensor_id}` }, untrusted(one.hostname))),
  split(_("Program"), by.path, paths, (one) => make("span", { class: "mono" }, untrusted(one.path))),
];

// What the filter in the form does with the event that is typed in beside it.
async function trySample() {
  const box = form.querySelector("[data-sample]");
  const fields = [...box.querySelectorAll("[data-member]")].filter((one) => one.value);
  const result = box.querySelector("[data-sampled]");
  if (!box.open || !fields.length) return result.replaceChildren();
  const [body] = [bodyOf(form)].flat();
  try {
    const { samples: [found] } = await call("POST", "/api/v1/ingress_approvedlist/check", { filters: [body], sample: Object.fromEntries(fields.map((one) => [one.dataset.member, one.value])) });
    result.replaceChildren(
      make("p", { class: found.dropped ? "warn-text" : "good-text" }, found.dropped === "process" ? _("The process and all its events are dropped.") : found.dropped ? _("The event is dropped. The process is stored.") : _("Stored.")),
      make("ul", { class: "plain" }, ...found.lists.map((one) => make("li", {}, make("span", { translate: "no" }, one.name), ": ", one.entry === null ? _("no matching entry") : make("span", { class: "mono" }, untrusted(one.entry)))), found.means_parent ? make("li", {}, _("The parent process matches, so this process matches too.")) : ""));
  } catch (error) {
    result.replaceChildren(make("p", { class: "bar broken" }, untrusted(error.message)));
  }
}

// What is ticked goes with the filter, to the audit log.
function ready() {
  const boxes = [...place.querySelectorAll("input")];
  const ticked = missing.filter((_one, at) => boxes[at].checked);
  form.elements.accepted_blind.value = ticked.length ? JSON.stringify(ticked) : "";
  form.dispatchEvent(new Event("change"));
  save.disabled = boxes.some((one) => !one.checked);
}

if (form) {
  let trying = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(trying);
    trying = setTimeout(trySample, 300);
    if (event.target.closest("[data-sample]")) return;
    if (!event.target.matches("textarea, select, [data-type=flag]")) {
      if (event.target.closest("[data-check]") === null && place.querySelector("dl")) ready();
      return;
    }
    clearTimeout(waiting);
    save.disabled = true;
    waiting = setTimeout(() => attempt(check), 500);
  });
  form.addEventListener("toggle", trySample, true);
  place.addEventListener("change", ready);
  document.querySelector("[data-check-now]")?.addEventListener("click", () => attempt(check));
  const dialog = form.closest("dialog");
  dialog?.addEventListener("opened", () => attempt(check));
  if (document.querySelector("[data-open-now]")) openDialog(dialog);
  else if (!dialog) attempt(check);
}
