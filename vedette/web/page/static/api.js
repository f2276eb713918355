// The only module that changes data: calls the documented API with the session's token.

import { make, meta } from "./dom.js";
import { untrusted } from "./untrusted.js";

let csrf = meta("csrf-token");

export class ApiError extends Error {
  constructor(status, body, requestId) {
    super(body.message ?? body.errorMessage ?? _`The server returned status ${status}`);
    Object.assign(this, { status, reason: body.reason ?? "", body, requestId });
  }
}

// Without a response, it is unknown whether a change was made.
function unanswered(method, error) {
  if (error.name === "AbortError") throw error;
  document.dispatchEvent(new CustomEvent("unanswered"));
  throw new ApiError(0, { message: `${noAnswer()}${method === "GET" ? "" : _(". Check whether the change was saved before you retry")}` });
}

export const noAnswer = () => navigator.onLine ? _("No response from the server") : _("No response from the server: this computer is offline");

// Returns the JSON of a response; with `file` the response itself. Throws ApiError. If the session
// has ended, it asks the reader to sign in and repeats the call.
export async function call(method, path, body, { signal, keepalive, told, file } = {}) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET") headers["X-CSRF-Token"] = csrf;
  const answer = await fetch(path, {
    method, headers, signal, keepalive, credentials: "same-origin", cache: "no-store",
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => unanswered(method, error));
  if (answer.status === 401 && document.getElementById("session") && !path.startsWith("/api/v1/session")) {
    await signInAgain();
    return call(method, path, body, { signal, keepalive, told, file });
  }
  if (file && answer.ok) return answer;
  const text = await (told ? withoutProgress(answer, told) : answer.text()).catch((error) => unanswered(method, error));
  let found = {};
  try {
    found = text ? JSON.parse(text) : {};
  } catch {
    found = { message: text.slice(0, 200) };
  }
  if (!answer.ok || (told && found.reason)) throw new ApiError(answer.status, found, answer.headers.get("x-request-id"));
  if (method !== "GET" && !body?.dry_run && !path.startsWith("/api/v1/me/")) document.dispatchEvent(new CustomEvent("changed"));
  return found;
}

// Returns the text of a response without the leading lines that report progress.
async function withoutProgress(answer, told) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (text + piece.value).split("\n");
    while (lines[1] !== undefined && lines[0].startsWith('{"progress"')) told(JSON.parse(lines.shift()).progress);
    text = lines.join("\n");
  }
  return text;
}

export const get = (path, options) => call("GET", path, undefined, options);

// Announces a completed change and offers undo: {text, undo: async () => ...}.
export function done(text, undo = null) {
  const bar = make("div", {}, make("span", {}, text));
  const close = () => bar.remove();
  if (undo) {
    bar.append(make("button", { type: "button", "data-undo": true, onclick: async () => { close(); await attempt(undo); } }, _("Undo")));
  }
  bar.append(make("button", { type: "button", "aria-label": _("Dismiss"), onclick: close }, "×"));
  document.getElementById("undo")?.append(bar);
  setTimeout(close, undo ? 600_000 : 8_000);
}

// Shows an error where the reader looks: in the open dialog, else below, until it is dismissed.
// Offers `again` if a retry may succeed.
export function failed(error, again = null) {
  if (error?.name === "AbortError") return;
  const end = [...document.querySelectorAll("dialog[open]")].at(-1)?.querySelector(".dialog-end");
  const bar = make("div", { class: end ? "failed bar broken" : "failed", role: end ? "alert" : null }, make("span", {}, untrusted(error.message)));
  if (error.requestId) bar.append(make("code", {}, error.requestId));
  if (end) {
    end.parentElement.querySelector(".failed")?.remove();
    end.closest("dialog").addEventListener("close", () => bar.remove(), { once: true });
    end.before(bar);
    return;
  }
  const button = (label, act) => bar.append(make("button", { type: "button", onclick: () => { bar.remove(); act?.(); } }, label));
  if (again && !(error.status >= 400 && error.status < 500 && error.status !== 429)) button(_("Retry"), again);
  button(_("Dismiss"));
  document.getElementById("undo")?.append(bar);
}

export async function attempt(work, again = () => attempt(work)) {
  try {
    return await work();
  } catch (error) {
    failed(error, again);
    return undefined;
  }
}

// Repeats an action every `ms` milliseconds while the page is visible. An error response stops it
// and is shown; other code reports an unavailable server.
export function repeat(act, ms) {
  const timer = setInterval(() => document.hidden || act().catch((error) => {
    if (error.status === 0 || error.status >= 500 || error.name === "AbortError") return;
    clearInterval(timer);
    failed(error);
  }), ms);
  return timer;
}

// Signs in with the fields of a form and shows what is wrong with them. Returns true on success.
export async function signIn(form) {
  const problem = form.querySelector("[data-problem]");
  const second = form.querySelector("[data-second-factor]");
  const fields = new FormData(form);
  const { link } = form.dataset;
  const body = link ? { link } : { username: fields.get("username"), password: fields.get("password") };
  if (!second.hidden && fields.get("code")) body.code = fields.get("code");
  problem.hidden = true;
  try {
    csrf = (await call("POST", "/api/v1/session", body)).csrf_token;
    return true;
  } catch (error) {
    if (error.reason === "second_factor_needed") {
      second.hidden = false;
      second.querySelector("input").focus();
    } else {
      problem.replaceChildren(untrusted(error.message));
      problem.hidden = false;
      (link ? form.querySelector("button.primary") : form.elements.password).focus();
    }
    return false;
  }
}

let asking = null;

// Shows the sign-in over the page, so that nothing on it is lost; once for all waiting calls.
export function signInAgain() {
  asking ??= new Promise((resolve) => {
    const dialog = document.getElementById("session");
    const form = document.getElementById("session-form");
    const submit = async (event) => {
      event.preventDefault();
      if (!(await signIn(form))) return;
      form.removeEventListener("submit", submit);
      form.querySelector("[name=password]").value = "";
      asking = null;
      dialog.close();
      resolve();
    };
    form.addEventListener("submit", submit);
    if (!dialog.open) dialog.showModal();
    form.querySelector("[name=password]").focus();
  });
  return asking;
}

export async function signOut() {
  await call("DELETE", "/api/v1/session");
  location.replace("/ui/sign-in");
}
