// Changes as they are declared: data-call="METHOD /api/…" sends data-body (JSON) with the fields of
// the form, says data-done, offers data-undo-call, and reads the page anew.

import { attempt, call, done } from "./api.js";
import "./contain.js";

const READERS = {
  number: (field) => Number(field.value),
  flag: (field) => field.checked,
  lines: (field) => field.value.split(/[\s,;]+/).filter(Boolean),
  json: (field) => JSON.parse(field.value),
  hours: (field) => new Date(Date.now() + Number(field.value) * 3_600_000).toISOString(),
  text: (field) => field.value,
};

export function bodyOf(form) {
  const body = JSON.parse(form.dataset.body ?? "{}");
  for (const field of form.querySelectorAll("[name]")) {
    const type = field.dataset.type ?? "text";
    if (type === "flag" || field.value !== "") body[field.name] = READERS[type](field);
  }
  return form.hasAttribute("data-list") ? [body] : body;
}

function target(element) {
  const [method, path] = element.dataset.call.split(" ");
  const values = element.dataset.path ? JSON.parse(element.dataset.path) : [];
  return [method, values.reduce((text, value) => text.replace("{}", encodeURIComponent(value)), path)];
}

export async function send(element, body) {
  const [method, path] = target(element);
  const found = await call(method, path, method === "DELETE" ? undefined : body);
  const { undoCall, undoBody } = element.dataset;
  const back = undoCall
    ? async () => {
        await call(...undoCall.split(" "), JSON.parse(undoBody ?? "{}"));
        location.reload();
      }
    : null;
  element.closest("dialog")?.close();
  if (element.dataset.secret) return showSecret(found[element.dataset.secret]);
  sessionStorage.setItem("done", element.dataset.done ?? "Done");
  element.dispatchEvent(new CustomEvent("sent", { bubbles: true, detail: found }));
  if (back) done(element.dataset.done, back);
  else if (!element.hasAttribute("data-stay")) location.assign(element.dataset.then ?? location.href);
  return found;
}

// A new secret is shown once, in a field, and never in the address.
function showSecret(secret) {
  const dialog = document.getElementById("secret");
  dialog.querySelector("input").value = secret;
  dialog.showModal();
  dialog.querySelector("input").select();
  dialog.addEventListener("close", () => location.reload(), { once: true });
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
    if (button && button.getAttribute("aria-disabled") !== "true") {
      attempt(() => send(button, JSON.parse(button.dataset.body ?? "{}")));
    }
  },
  true,
);

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-call]");
  if (!form || event.defaultPrevented) return;
  event.preventDefault();
  attempt(() => send(form, bodyOf(form)));
});

const said = sessionStorage.getItem("done");
if (said) {
  sessionStorage.removeItem("done");
  done(said);
}
