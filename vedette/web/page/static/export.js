// Exports all matches as returned by the API to a file: JSON lines or CSV. Reads page by page,
// oldest first, so that new entries are at the end.

import { attempt, call, done, get } from "./api.js";
import { pageCall } from "./copy.js";
import { make, many, number, saveAs } from "./dom.js";
import { openMenu } from "./menu.js";

const PAGE = 1000;
const MOST = 100_000; // first rows of larger results; the API has all of them
const SORTS = { "/api/v1/process": "start asc", "/api/v2/alert": "created_time asc", "/api/v1/binary": "server_added_timestamp asc" };

// A cell that a spreadsheet would evaluate as a formula starts with an apostrophe, and a cell with
// a separator of any spreadsheet is quoted. web/fleet/csv_text.py has the same rule.
const FORMULA = /^[\s\x00-\x20\x7f-\xa0\u200b\u200e\u200f\u2060\ufeff]*[=+@\uff0b\uff0d\uff1d\uff20-]|^[\t\r\n]/;
const QUOTED = /[",;|\t\r\n]|^\s|\s$/;

export function cell(value) {
  const text = value == null ? "" : Array.isArray(value) ? value.map((one) => (typeof one === "object" ? JSON.stringify(one) : one)).join("|") : typeof value === "object" ? JSON.stringify(value) : String(value);
  const safe = typeof value !== "number" && FORMULA.test(text) ? `'${text}` : text;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const LINES = { jsonl: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`), csv: (rows, names) => rows.map((row) => `${names.map((name) => cell(row[name])).join(",")}\r\n`) };

// Source of an export that is not a list: source(format) yields [rows, total].
let source = null;
export const exportFrom = (other) => (source = other);

async function* listed() {
  const { path, params } = pageCall();
  const kept = params.filter(([name]) => !["rows", "start", "sort"].includes(name));
  const seen = new Set();
  for (let start = 0; start < MOST; start += PAGE) {
    const found = await get(`${path}?${new URLSearchParams([...kept, ["rows", PAGE], ["start", start], ["sort", SORTS[path]]])}`);
    if (found.incomplete_results) throw new Error(_("Nothing exported: the search took too long. Choose a shorter time range."));
    const rows = found.results.filter((row) => {
      const id = row.unique_id ?? (row.id ? `${row.id}/${row.segment_id}` : row.md5);
      return !seen.has(id) && seen.add(id);
    });
    yield [rows, found.total_results];
    if (found.results.length < PAGE) break;
  }
}

export async function collect(format, say = () => {}) {
  const [parts, names, all] = [[], new Set(), []];
  let count = 0;
  for await (const [rows, total] of (source ?? listed)(format)) {
    if (format === "csv") for (const row of rows) for (const name of Object.keys(row)) names.add(name);
    if (format === "csv") all.push(rows);
    else parts.push(new Blob(LINES.jsonl(rows)));
    say((count += rows.length), total);
    if (count >= MOST) break;
  }
  const heads = [...names];
  if (format === "csv") parts.push(`${heads.map(cell).join(",")}\r\n`, ...all.map((rows) => new Blob(LINES.csv(rows, heads))));
  return { blob: new Blob(parts, { type: format === "csv" ? "text/csv" : "application/x-ndjson" }), count };
}

async function save(format) {
  const bar = make("div", {}, make("span", {}, _("Loading…")));
  document.getElementById("undo").append(bar);
  try {
    const { blob, count } = await collect(format, (read, total) => bar.firstChild.replaceChildren(_`Loading… ${number(read)} of ${number(total)}`));
    const view = location.pathname.slice(4).replaceAll(/\W/g, "_").slice(0, 59);
    await call("POST", "/api/v1/export", { view, params: location.search.slice(1), format, rows: count });
    saveAs(`${location.pathname.split("/").pop()}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}Z.${format}`, blob);
    done(_`${many(count, _("row"), _("rows"))} exported`);
  } finally {
    bar.remove();
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-action=export]");
  if (!button) return;
  const total = Number(button.dataset.total);
  const what = total > MOST ? _`the first ${number(MOST)} of ${number(total)} rows` : many(total, _("row"), _("rows"));
  openMenu(button, [what, { label: _("JSON Lines"), key: "j", act: () => attempt(() => save("jsonl")) }, { label: "CSV", key: "c", act: () => attempt(() => save("csv")) }]);
});
