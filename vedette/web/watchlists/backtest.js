// The backtest of a watchlist, immediately and after each edit, and of a rule; hits per day as bars
// with numbers.

import { attempt, call } from "./api.js";
import { make, number } from "./dom.js";
import { untrusted } from "./untrusted.js";

const form = document.querySelector("form[data-watch]");
const rule = document.querySelector("[data-rule]");
const place = document.querySelector("[data-result]");
const span = document.querySelector("[data-window]");
let waiting = 0;
let latest = 0;

async function run() {
  const query = form?.elements.search_query.value.trim();
  if (form && !query) return;
  const mine = ++latest;
  place.setAttribute("aria-busy", "true");
  try {
    const found = form
      ? await call("POST", "/api/v1/watchlist/preview", { search_query: query, index_type: form.elements.index_type.value })
      : await call("POST", "/api/v1/sigma/test", { ids: [rule.dataset.rule] });
    if (mine === latest) show(found);
  } catch (error) {
    if (mine === latest) place.replaceChildren(make("p", { class: "bar broken", role: "alert" }, untrusted(error.message)));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

function show(found) {
  span.textContent = _`${found.from.slice(0, 10)} to ${found.to.slice(0, 10)}`;
  const most = Math.max(1, ...found.hits_per_day.map((one) => one.hits));
  const days = make("table", { "aria-label": _("Hits per day") });
  const body = make("tbody");
  for (const { day, hits } of found.hits_per_day) {
    body.append(make("tr", {}, make("td", { class: "time" }, day), make("td", { class: "num" }, number(hits)), make("td", {}, make("meter", { min: 0, max: most, value: hits, "aria-label": _`${hits} hits` }))));
  }
  days.append(body);
  const hosts = make("ul", { class: "plain" }, ...found.hosts.slice(0, 10).map((one) => make("li", {}, untrusted(one.hostname), make("span", { class: "meta num" }, number(one.hits)))));
  const samples = make("ul", { class: "plain" }, ...found.samples.slice(0, 10).map((one) =>
    make("li", {}, untrusted(one.hostname ?? one.endpoint?.[0] ?? ""), " ", untrusted(one.process_name ?? one.observed_filename?.[0] ?? one.md5 ?? ""), make("span", { class: "mono meta cut" }, untrusted(one.cmdline ?? (one.matched ? JSON.stringify(one.matched) : ""))))));
  place.replaceChildren(
    make("div", { class: "figures" },
      figure(number(found.total_hits), _("hits")), figure(number(found.total_hosts), _("hosts")),
      figure(number(found.expected_alerts), _("expected alerts")), figure(String(found.expected_alerts_per_day), _("alerts per day"))),
    found.incomplete_results ? make("p", { class: "bar partial" }, _("Stopped at the time limit: there may be more hits.")) : "",
    found.total_hits ? make("h3", {}, _("Hits per day")) : make("p", { class: "good-text" }, _("No hits in this period.")),
    found.total_hits ? days : "",
    ...(found.rules ?? []).filter((one) => one.not_stored.length).map((one) => make("p", { class: "bar partial" }, _`Not stored, so matched only in new events: ${one.not_stored.join(", ")}.`)),
    found.total_hits ? make("h3", {}, _("Hosts")) : "", hosts,
    found.top_values?.length ? make("h3", {}, _("Exclude")) : "",
    make("ul", { class: "plain" }, ...(found.top_values ?? []).map((one) => make("li", {}, make("button", { type: "button", onclick: () => leaveOut(one) }, make("span", { class: "mono" }, "\u2212 ", untrusted(`${one.field}:${one.value}`))), " ", make("span", { class: "meta num" }, number(one.hits))))),
    found.total_hits ? make("h3", {}, _("Samples")) : "", samples,
  );
}

const figure = (value, label) => make("div", {}, make("b", {}, value), make("span", { class: "meta" }, label));

function leaveOut({ search_query }) {
  form.elements.search_query.value = search_query;
  form.dispatchEvent(new Event("change"));
  run();
}

const alertsOf = (id) =>
  form.querySelector("[data-alert-action]")?.checked && id ? [["PUT", `/api/v1/watchlist/${encodeURIComponent(id)}/action_type/alert`, { enabled: true }]] : [];

if (form) {
  form.querySelector("[data-backtest]").addEventListener("click", () => attempt(run));
  form.addEventListener("input", (event) => {
    if (!event.target.matches("[name=search_query], [name=index_type]")) return;
    clearTimeout(waiting);
    waiting = setTimeout(() => attempt(run), 600);
  });
  form.addEventListener("sent", ({ detail }) => attempt(() => Promise.all(alertsOf(detail.id).map((one) => call(...one)))));
  form.after = () => alertsOf("ID");
  attempt(run);
}
rule?.addEventListener("click", () => attempt(run));
