// The copy menu: link, query, API call as curl or Python, rows as JSON. A page declares its call in
// <template id="call" data-method data-path data-params='[["q","..."]]'>.

import { attempt, call, done, get } from "./api.js";
import { iso, make, meta, say } from "./dom.js";
import { openMenu } from "./menu.js";

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

export async function copyText(text, what = _("Copied")) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = document.createElement("textarea");
    field.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  done(`${what}${text.search(UNSEEN) >= 0 ? _(" (contains invisible characters or line breaks)") : ""}`);
  say(what);
}

// Changes text so that applications do not turn it into a link.
const defanged = (text) => text.replace(/^http/i, "hxxp").replaceAll(".", "[.]").replaceAll("://", "[://]");

export const escaped = (text) =>
  [...text].map((one) => (/[\p{L}\p{N}\p{P}\p{S} ]/u.test(one) ? one : `\\u{${one.codePointAt(0).toString(16)}}`)).join("");

const shell = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
const unicode = (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`;
const python = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, unicode);

export function pageCall() {
  const place = document.activeElement?.closest(".tile")?.querySelector("[data-call-of-tile]") ?? document.getElementById("call");
  if (!place) return null;
  return { method: place.dataset.method, path: place.dataset.path, params: JSON.parse(place.dataset.params || "[]"), body: place.dataset.body ?? "" };
}

const address = (call) => {
  const text = new URLSearchParams(call.params).toString().replaceAll("'", "%27");
  return `${location.origin}${call.path}${text ? `?${text}` : ""}`;
};

export function asCurl(call) {
  const words = ["curl", "-sS", "-H", `"X-Auth-Token: $VEDETTE_TOKEN"`];
  if (call.method !== "GET") words.push("-X", call.method);
  if (call.body != null && call.method !== "GET") words.push("-H", shell("Content-Type: application/json"), "--data-raw", shell(call.body));
  return [...words, shell(address(call))].join(" ");
}

export function asPython(call) {
  const pairs = call.params.map(([name, value]) => `    (${python(name)}, ${python(String(value))}),`).join("\n");
  if (call.method === "GET") {
    return `from urllib.parse import urlencode\nfrom cbapi.response import CbResponseAPI\n\ncb = CbResponseAPI()\nparams = [\n${pairs}\n]\nfound = cb.get_object(${python(call.path)} + "?" + urlencode(params))\n`;
  }
  return `import json\nfrom cbapi.response import CbResponseAPI\n\ncb = CbResponseAPI()\nfound = cb.${call.method === "POST" ? "post" : "put"}_object(${python(call.path)}, json.loads(${python(call.body)}))\n`;
}

// Shows the calls that a form would send; `calls` returns the arguments for `call`, in order.
export function offerCalls(form, calls) {
  const label = _("Copy");
  const text = make("textarea", { class: "mono", rows: 4, readonly: true, spellcheck: "false", "aria-label": _("As API call") });
  const button = make("button", { type: "button", onclick: () => attempt(async () => {
    await show();
    await copyText(text.value, _("curl copied"));
    button.textContent = _("Copied");
  }) }, label);
  const offer = make("details", { class: "as-call" }, make("summary", {}, _("As API call")));
  const curl = ([method, path, body]) => asCurl({ method, path, body: JSON.stringify(body)?.replace(UNSEEN, unicode) });
  const show = async () => {
    if (!offer.open) return;
    if (!text.isConnected) offer.append(text, button);
    button.textContent = label;
    text.value = "";
    try {
      text.value = (await calls()).map(curl).join("\n");
    } catch (error) {
      text.value = `# ${error.message}`; // a field that cannot be parsed
    }
  };
  for (const type of ["input", "change", "reset", "submit"]) form.addEventListener(type, () => setTimeout(show));
  offer.addEventListener("toggle", show);
  form.closest("dialog")?.addEventListener("opened", () => (offer.open = false));
  const end = form.querySelector(".dialog-end, .form-end");
  if (end) end.before(offer);
  else form.append(offer);
}

// The same view for another person or a later time: relative times become absolute, and an address
// that is too long for chats and tickets gets a short link.
export async function absoluteLink() {
  const url = new URL(location.href);
  const span = url.searchParams.get("t") ?? document.querySelector("select[name=t]")?.value ?? "";
  const match = /^-(\d+)([mhd])$/.exec(span);
  const now = Number(meta("server-time"));
  if (match) {
    const size = { m: 60_000, h: 3_600_000, d: 86_400_000 }[match[2]] * Number(match[1]);
    url.searchParams.set("t", `${iso(now - size)}..${iso(now)}`);
  }
  url.searchParams.set("seen", iso(now));
  if (url.href.length <= 2000) return url.href;
  const view = url.pathname.slice(4).replaceAll("/", "_");
  return `${url.origin}/ui/s/${(await call("POST", "/api/v1/permalink", { view, params: url.search.slice(1) })).id}`;
}

export const copies = (value, key) =>
  [[_("Copy value"), key, value], [_("Copy value, escaped"), "e", escaped(value)], [_("Copy value, defanged"), "d", defanged(value)]]
    .map(([label, letter, text]) => ({ label, key: letter, act: () => copyText(text, _("Value copied")) }));

export function copyMenu(anchor) {
  const call = pageCall();
  const query = document.querySelector("[data-query]");
  const { hidden, innerText } = document.getElementById("flyout");
  const row = document.querySelector("tr[aria-selected=true], tr.open, tr:focus-within");
  const cell = document.activeElement?.closest("td");
  const entries = [{ label: _("Link to this view"), key: "l", act: () => attempt(async () => copyText(await absoluteLink(), _("Link copied"))) }];
  if (query) entries.push({ label: _("Query"), key: "q", act: () => copyText(query.value, _("Query copied")) });
  if (call) {
    entries.push({ label: _("API call as curl"), key: "c", act: () => copyText(asCurl(call), _("curl copied")) });
    entries.push({ label: _("API call as Python"), key: "p", act: () => copyText(asPython(call), _("Python copied")) });
  }
  const exported = document.getElementById("export-call")?.dataset;
  if (exported) entries.push(exported.why ?? { label: _("Export call (v7) as curl"), key: "x", act: () => copyText(asCurl({ ...exported, method: "POST", params: [] }), _("curl copied")) });
  if (!hidden) entries.push({ label: _("Details as text"), key: "t", act: () => copyText(innerText, _("Text copied")) });
  if (row?.dataset.json) {
    entries.push({ label: _("Row as JSON"), key: "j", act: () => attempt(async () => copyText(JSON.stringify(await get(row.dataset.json), null, 2), _("JSON copied"))) });
  }
  if (cell?.dataset.value) entries.push(...copies(cell.dataset.value, "v"));
  openMenu(anchor, entries);
}
