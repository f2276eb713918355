// Renders /openapi.json as a list of calls; GET calls can be tried with a token that stays in
// this page. Everything is set as text, nothing as HTML.

const routes = document.getElementById("routes");
const token = document.getElementById("token");
const filter = document.getElementById("filter");

function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function callsByTag(document_) {
  const groups = new Map();
  for (const [path, methods] of Object.entries(document_.paths)) {
    for (const [method, call] of Object.entries(methods)) {
      const tag = (call.tags ?? ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, []);
      groups.get(tag).push({ path, method: method.toUpperCase(), ...call });
    }
  }
  return groups;
}

function parameterRow(parameter, values) {
  const input = element("input", { "aria-label": parameter.name });
  input.addEventListener("input", () => values.set(parameter, input.value));
  return element("tr", {},
    element("td", {}, element("code", {}, parameter.name)),
    element("td", {}, parameter.in),
    element("td", {}, parameter.description ?? ""),
    element("td", {}, input));
}

function addressOf(call, values) {
  let path = call.path;
  const query = new URLSearchParams();
  for (const [parameter, value] of values) {
    if (value === "") continue;
    if (parameter.in === "path") path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else query.append(parameter.name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

async function send(call, values, output) {
  const headers = token.value ? { "X-Auth-Token": token.value } : {};
  const answer = await fetch(addressOf(call, values), { headers });
  const text = await answer.text();
  let shown = text;
  try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON */ }
  output.textContent = `${answer.status} ${answer.statusText}\n\n${shown.slice(0, 100000)}`;
}

function body(call) {
  const values = new Map();
  const parts = [];
  if (call.description) parts.push(element("p", {}, call.description));
  if (call.parameters?.length) {
    parts.push(element("table", {}, ...call.parameters.map((one) => parameterRow(one, values))));
  }
  const answers = Object.entries(call.responses ?? {});
  parts.push(element("p", {}, answers.map(([status, one]) => `${status} ${one.description}`).join(" · ")));
  if (call.method === "GET") {
    const output = element("pre", { hidden: "" });
    const button = element("button", { type: "button" }, "Send");
    button.addEventListener("click", () => {
      output.hidden = false;
      output.textContent = "…";
      send(call, values, output).catch((error) => { output.textContent = String(error); });
    });
    parts.push(button, output);
  }
  return element("div", { class: "body" }, ...parts);
}

function entry(call) {
  const details = element("details", {},
    element("summary", {},
      element("span", { class: "method" }, call.method),
      element("code", {}, call.path),
      element("span", { class: "note" }, call.summary ?? "")));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) details.append(body(call));
  });
  return details;
}

function show(groups) {
  const wanted = filter.value.toLowerCase();
  routes.replaceChildren();
  for (const [tag, calls] of groups) {
    const kept = calls.filter((call) => `${call.method} ${call.path} ${call.summary}`.toLowerCase().includes(wanted));
    if (kept.length) routes.append(element("h2", {}, tag), ...kept.map(entry));
  }
}

fetch("/openapi.json")
  .then((answer) => answer.json())
  .then((document_) => {
    const groups = callsByTag(document_);
    filter.addEventListener("input", () => show(groups));
    show(groups);
  })
  .catch((error) => { routes.textContent = `The description could not be read: ${error}`; });
