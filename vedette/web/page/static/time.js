// Times in the time zone that the reader chose, always labeled, and durations in words. A host's
// time zone is in data-offset (minutes) of an enclosing element; elsewhere UTC replaces it.

import { preference, prefer } from "./preferences.js";

const two = (value) => String(value).padStart(2, "0");
const three = (value) => String(value).padStart(3, "0");

const ZONES = ["utc", "local", "host"];
const NAMES = { utc: () => "UTC", local: () => Intl.DateTimeFormat().resolvedOptions().timeZone, host: () => _("Host time") };
const zoneName = () => (NAMES[preference("zone")] ?? NAMES.utc)();

// "2026-11-19 10:02:11.300Z"; local time without the Z; host time with its UTC offset.
export function timeText(ms, { seconds = true, milliseconds = true, day = true, of = document.getElementById("analysis") } = {}) {
  const offset = preference("zone") === "host" && of?.closest("[data-offset]")?.dataset.offset;
  const at = new Date(ms + (offset || 0) * 60_000);
  const local = preference("zone") === "local";
  const part = (name) => (local ? at[`get${name}`]() : at[`getUTC${name}`]());
  const date = `${part("FullYear")}-${two(part("Month") + 1)}-${two(part("Date"))}`;
  let clock = `${two(part("Hours"))}:${two(part("Minutes"))}`;
  if (seconds) clock += `:${two(part("Seconds"))}`;
  if (seconds && milliseconds) clock += `.${three(part("Milliseconds"))}`;
  const size = Math.abs(offset);
  const zone = offset ? `${offset < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}` : "Z";
  return `${day ? `${date} ` : ""}${clock}${local ? "" : zone}`;
}

// "+4 m", "2 d 3 h": the two largest units.
export function spanText(ms) {
  if (!Number.isFinite(ms)) return "–";
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(size)} ms`;
  const units = [["d", 86_400_000], ["h", 3_600_000], ["m", 60_000], ["s", 1000]];
  const first = units.findIndex(([, unit]) => size >= unit);
  let rest = size;
  const words = [];
  for (const [name, unit] of units.slice(first, first + 2)) {
    const count = Math.floor(rest / unit);
    rest -= count * unit;
    if (count) words.push(`${count} ${name}`);
  }
  return words.join(" ");
}

// Formats all <time data-time="ms"> below an element.
export function showTimes(root = document) {
  for (const element of root.querySelectorAll("time[data-time]")) {
    const ms = Number(element.dataset.time);
    element.textContent = timeText(ms, { day: element.dataset.form !== "clock", milliseconds: element.dataset.form !== "seconds", of: element });
  }
  for (const element of root.querySelectorAll("[data-age]")) {
    element.textContent = spanText(Date.now() - Number(element.dataset.age));
  }
  for (const label of document.querySelectorAll("[data-zone-label]")) label.textContent = zoneName();
}

export function switchZone() {
  prefer("zone", ZONES[(ZONES.indexOf(preference("zone")) + 1) % ZONES.length]);
  showTimes();
}
