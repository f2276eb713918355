// Files and folders of rules, selected or dropped on the page: the form tests them immediately, and
// sends them instead of its text.

import { attempt, failed } from "./api.js";
import { many, number } from "./dom.js";

const dialog = document.getElementById("import");
const form = dialog.querySelector("form");
const opener = document.querySelector("[data-dialog=import]");
const zone = form.querySelector("[data-files]");
const { text } = form.elements;

// The dropped files with their paths; folders are read recursively.
async function inside(entry) {
  if (entry.isFile) return [[entry.fullPath.slice(1), await new Promise((found, failed) => entry.file(found, failed))]];
  const reader = entry.createReader();
  const all = [];
  for (;;) {
    const part = await new Promise((found, failed) => reader.readEntries(found, failed));
    if (!part.length) return all;
    for (const one of part) all.push(...(await inside(one)));
    bounded(all);
  }
}

function bounded(named) {
  const { filesMax, bytesMax } = zone.dataset;
  const size = named.reduce((sum, [, file]) => sum + file.size, 0);
  if (named.length > filesMax || size > bytesMax) throw new Error(_`At most ${number(filesMax)} files and ${number(bytesMax / 1_048_576)} MB at once. For more, use vedette sigma import`);
}

async function take(named) {
  const rules = named.filter(([name]) => /\.ya?ml$/i.test(name));
  if (!rules.length) throw new Error(_("No *.yml or *.yaml files"));
  bounded(rules);
  const files = await Promise.all(rules.map(async ([name, file]) => ({ name, text: await file.text() })));
  clear();
  form.dataset.body = JSON.stringify({ files });
  text.value = "";
  text.required = false;
  zone.querySelector("[data-chosen-files]").textContent = many(files.length, _("file"), _("files"));
  form.requestSubmit();
}

function clear() {
  delete form.dataset.body;
  delete form.dataset.ready;
  text.required = true;
  zone.querySelector("[data-chosen-files]").textContent = "";
}

zone.addEventListener("change", ({ target }) => attempt(async () => {
  const named = [...target.files].map((one) => [one.webkitRelativePath || one.name, one]);
  target.value = "";
  await take(named);
}));
text.addEventListener("input", clear);

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", (event) => {
  const items = [...event.dataTransfer.items].filter((one) => one.kind === "file");
  if (!items.length) return;
  event.preventDefault();
  const dropped = items.map((one) => one.webkitGetAsEntry() ?? one.getAsFile()); // before the event ends
  if (!dialog.open) opener.click();
  if (!dialog.open) {
    failed(new Error(opener.title));
    return;
  }
  attempt(async () => {
    const named = [];
    for (const one of dropped) named.push(...("isFile" in one ? await inside(one) : [[one.name, one]]));
    await take(named);
  });
});
