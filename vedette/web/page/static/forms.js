// Declarative changes: data-call="METHOD /api/…" sends data-body (JSON) with the fields of the
// form, announces data-done, offers data-undo-call, and reloads the page.

import { attempt, call, done } from "./api.js";
import { offerCalls } from "./copy.js";
import { make, many, number } from "./dom.js";
import { untrusted } from "./untrusted.js";

const READERS = {
  number: (field) => Number(field.value),
  flag: (field) => field.checked,
  rows: (field) => field.value.split("\n").map((one) => one.trim()).filter(Boolean),
  lines: (field) => field.value.split(/[\s,;]+/).filter(Boolean),
  json: (field) => JSON.parse(field.value),
  now: () => new Date().toISOString(),
  hours: (field) => (Number(field.value) ? new Date(Date.now() + Number(field.value) * 3_600_000).toISOString() : null),
  text: (field) => field.value,
  ids: (field) => [...field.querySelectorAll("input:checked")].map(({ value }) => Number(value)),
  // The role of each sensor group, unless it is the first choice (none).
  access: (field) => [...field.querySelectorAll("select")].filter((one) => one.selectedIndex).map((one) => ({ group_id: Number(one.dataset.group), access_category: one.value })),
  // A line per address, with its name. A leading # stores the address without using it.
  hosts: (field) => READERS.rows(field).map((one) => {
    const [, off, address, name] = /^(#?)\s*(\S+)\s*(.*)$/.exec(one);
    return { ip_address: address, name, enabled: !off };
  }),
  // A line each: kinds, a space, and a path.
  exclusions: (field) => READERS.rows(field).map((one) => {
    const [kinds, ...path] = one.split(" ");
    return { eventsToIgnore: kinds.split(","), paths: [path.join(" ")] };
  }),
};

// Whether a field differs from its initial value.
const isChanged = (field) =>
  field.type === "checkbox" ? field.checked !== field.defaultChecked : field.options ? [...field.options].some((one) => one.selected !== one.defaultSelected) : field.value !== field.defaultValue;

// With `shown`, replaces typed secrets by placeholders, for display.
export function bodyOf(form, shown) {
  const body = JSON.parse(form.dataset.body ?? "{}");
  for (const field of form.querySelectorAll("[name]")) {
    const type = field.dataset.type ?? "text";
    if (form.hasAttribute("data-changed")) {
      if (isChanged(field)) body[field.name] = READERS[type](field);
    } else if (type === "flag" || type === "rows" || field.value !== "") body[field.name] = READERS[type](field);
  }
  if (shown) for (const { name } of form.querySelectorAll("[type=password], [autocomplete=one-time-code]")) if (body[name]) body[name] = `<${name}>`;
  // Sends the initial values too, so that the server rejects a change that would undo someone
  // else's.
  const was = Object.entries(JSON.parse(form.dataset.was ?? "{}")).filter(([name]) => name in body);
  if (was.length) body.was = Object.fromEntries(was);
  return form.hasAttribute("data-list") ? [body] : body;
}

// A path with the values of an element inserted.
const filled = (path, { dataset }) =>
  JSON.parse(dataset.path ?? "[]").reduce((text, value) => text.replace("{}", encodeURIComponent(value)), path);

// The arguments for `call`.
function callOf(element, body) {
  const [method, path] = element.dataset.call.split(" ");
  return [method, filled(path, element), method === "DELETE" && !Object.keys(body).length ? undefined : body];
}

export async function send(element, body) {
  const found = await call(...callOf(element, body)).catch((error) => {
    if (!error.body?.changed) throw error;
    compare(element, body, error.body.changed);
  });
  if (!found) return undefined;
  const { undoCall, undoBody } = element.dataset;
  const back = undoCall
    ? async () => {
        await call(...undoCall.split(" "), JSON.parse(undoBody ?? "{}"));
        location.reload();
      }
    : null;
  element.closest("dialog")?.close();
  if (element.hasAttribute("data-stay")) element.reset?.();
  if (element.dataset.secret) return showSecret(found[element.dataset.secret], found.qr);
  element.dispatchEvent(new CustomEvent("sent", { bubbles: true, detail: found }));
  if (back || element.hasAttribute("data-stay")) done(element.dataset.done ?? _("Done"), back);
  else {
    sessionStorage.setItem("done", element.dataset.done ?? _("Done"));
    location.assign(element.dataset.then ?? location.href);
  }
  return found;
}

// Compares the reader's changes with concurrent changes of another user, side by side.
function compare(form, body, changed) {
  const label = (name) => {
    const found = form.elements.namedItem(name)?.labels?.[0];
    return (found?.querySelector("span:not([class])") ?? [...(found?.childNodes ?? [])].find((one) => one.nodeType === 3 && one.data.trim()))?.textContent.trim() ?? name;
  };
  const lines = (value) => [value].flat().map((one) => (typeof one === "object" ? JSON.stringify(one) : String(one))).join("\n").split("\n");
  const shown = (value) => make("td", {}, ...lines(value).flatMap((one, at) => [at ? make("br") : "", untrusted(one)]));
  const again = () => send(form, { ...body, was: { ...body.was, ...changed } });
  const choice = (text, act, look) => make("button", { type: "button", class: look, onclick: act }, text);
  const dialog = make("dialog", { class: "wide-dialog", id: "stale", "aria-labelledby": "stale-title" }, make("form", { method: "dialog" },
    make("h2", { id: "stale-title" }, _("Someone else changed this in the meantime")),
    make("table", {},
      make("thead", {}, make("tr", {}, make("td"), make("th", {}, _("Theirs")), make("th", {}, _("Mine")))),
      make("tbody", {}, ...Object.entries(changed).map(([name, theirs]) => make("tr", {}, make("th", { scope: "row" }, label(name)), shown(theirs), shown(body[name]))))),
    make("div", { class: "dialog-end" },
      choice(_("Use theirs"), () => location.reload()),
      choice(_("Keep mine"), () => (dialog.close(), attempt(again)), "primary"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Shows a new secret once, in a field, and never in the address.
function showSecret(secret, rows) {
  const dialog = document.getElementById("secret");
  dialog.querySelector("input").value = secret;
  if (rows) drawCode(dialog.querySelector("canvas"), rows);
  dialog.showModal();
  dialog.querySelector("input").select();
  dialog.addEventListener("close", () => location.reload(), { once: true });
}

// Draws a QR code: four pixels per square, four squares of margin.
function drawCode(canvas, rows) {
  canvas.width = canvas.height = 4 * (rows.length + 8);
  const ink = canvas.getContext("2d");
  ink.fillStyle = "#fff";
  ink.fillRect(0, 0, canvas.width, canvas.width);
  ink.fillStyle = "#000";
  rows.forEach((row, y) => [...row].forEach((one, x) => one === "1" && ink.fillRect(4 * x + 16, 4 * y + 16, 4, 4)));
}

function fill(dialog, opener) {
  const values = JSON.parse(opener.dataset.fill ?? "{}");
  const form = dialog.querySelector("form[data-call]");
  for (const [name, value] of Object.entries(values)) {
    if (name === "path") form.dataset.path = JSON.stringify(value);
    const field = form.elements.namedItem(name);
    if (field) field.value = value;
    for (const place of dialog.querySelectorAll(`[data-show="${name}"]`)) place.textContent = value;
  }
}

document.addEventListener(
  "click",
  (event) => {
    const opener = event.target.closest("[data-dialog][data-fill]");
    if (opener) fill(document.getElementById(opener.dataset.dialog), opener);
    const button = event.target.closest("button[data-call]");
    if (button) attempt(() => send(button, JSON.parse(button.dataset.body ?? "{}")));
  },
  true,
);

// A form with data-try sends a trial call first and shows its response; the next submit sends the
// change.
async function tried(form) {
  const place = form.querySelector("[data-tried]");
  const [method, path] = form.dataset.try.split(" ");
  place.textContent = _("Loading…");
  const found = await call(method, path, bodyOf(form)).catch((error) => {
    place.textContent = "";
    throw error;
  });
  form.dataset.ready = "true";
  form.querySelector("[data-submit-word]").textContent = _("Add");
  const words = JSON.parse(form.dataset.words ?? "{}");
  if (found.results) {
    // Entries that need attention first, limited to the space on the page.
    const order = ["refused", ...Object.keys(words)];
    const all = found.results.map((one) => ({ ...one, became: one.reason ? "refused" : one.change })).sort((a, b) => order.indexOf(a.became) - order.indexOf(b.became));
    return place.replaceChildren(
      make("b", {}, Object.entries(words).filter(([name]) => found.counts[name]).map(([name, word]) => `${number(found.counts[name])} ${word}`).join(", ") || _("no rules")),
      make("ul", { class: "plain" }, ...all.slice(0, 200).map((one) => make("li", {}, make("b", {}, words[one.became]), " ", untrusted(`${one.place}:${one.line} ${one.title} ${one.message}`)))),
      ...(all.length > 200 ? [make("p", {}, _`${number(all.length - 200)} more`)] : []));
  }
  const counts = Object.entries(found.indicators).map(([type, count]) => `${number(count)} ${type}`).join(", ");
  place.replaceChildren(
    make("p", {}, make("b", {}, untrusted(found.display_name || found.name || _("Unnamed"))), _` ${found.format}: ${many(found.reports, _("report"), _("reports"))}, ${counts || _("no indicators")}${found.complete ? "" : _(", incomplete")}`),
    found.error_count ? make("p", { class: "warn-text" }, _`${many(found.error_count, _("error"), _("errors"))}, the first: `, untrusted(`${found.errors[0].place}: ${found.errors[0].problem}`)) : "",
    make("ul", { class: "plain" }, ...found.titles.map((one) => make("li", {}, untrusted(one)))));
}

document.addEventListener("input", ({ target: { form } }) => form?.dataset.try && delete form.dataset.ready);

// Shows the consequences of a change before it can be sent: data-asks has the address to load, with
// a form's path and fields. The save button stays disabled until the response, marked data-known,
// arrives.
const asking = (form) => form?.querySelector("[data-asks]");
const ready = (place) => (place.closest("form").querySelector("[data-save]").disabled = !place.querySelector("[data-known]"));
let waiting = 0;

function ask(form) {
  const place = asking(form);
  if (!place) return;
  place.replaceChildren(_("Loading…"));
  ready(place);
  htmx.ajax("GET", `${filled(place.dataset.asks, form)}?${new URLSearchParams([...form.querySelectorAll("[data-asked]")].map((one) => [one.name, one.value]))}`, { source: place, target: place, swap: "innerHTML" });
}

document.addEventListener("opened", ({ target }) => ask(target.querySelector("form")));
document.addEventListener("content", () => document.querySelectorAll("[data-asks]").forEach(ready));
document.addEventListener("input", ({ target }) => {
  if (!target.matches("[data-asked]")) return;
  clearTimeout(waiting);
  asking(target.form).replaceChildren();
  ready(asking(target.form));
  waiting = setTimeout(() => ask(target.form), 300);
});

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-call]");
  if (!form || event.defaultPrevented) return;
  event.preventDefault();
  const off = form.querySelector(".primary[aria-disabled=true]");
  if (off) return void off.click(); // explains why it is disabled
  attempt(() => (form.dataset.try && !form.dataset.ready ? tried(form) : send(form, bodyOf(form))));
});

// form.after has calls to send after the form.
function offer() {
  for (const form of document.querySelectorAll("form[data-call]:not(:has(.as-call))")) offerCalls(form, () => [callOf(form, bodyOf(form, true)), ...(form.after?.() ?? [])]);
}

offer();
document.addEventListener("content", offer);

const said = sessionStorage.getItem("done");
if (said) {
  sessionStorage.removeItem("done");
  done(said);
}
