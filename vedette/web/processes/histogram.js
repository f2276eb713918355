// Selects a time range on a histogram by dragging, or with two handles and the arrow keys. Enter
// applies it, Esc clears it. Calls onRange(sinceMs, untilMs).

import { spanText, timeText } from "./time.js";
import { say } from "./dom.js";

export function startHistogram(onRange) {
  document.addEventListener("pointerdown", (event) => begin(event, onRange));
  document.addEventListener("keydown", (event) => keys(event, onRange));
}

const figureOf = (element) => element.closest?.("figure.over-time");
const stepsOf = (figure) => Math.max(1, Math.round((figure.dataset.until - figure.dataset.since) / figure.dataset.width));

function stateOf(figure) {
  figure.range ??= [0, stepsOf(figure)];
  return figure.range;
}

function show(figure) {
  const [low, high] = stateOf(figure);
  const steps = stepsOf(figure);
  const brush = figure.querySelector(".brush");
  const all = low === 0 && high === steps;
  brush.hidden = all;
  brush.style.left = `${(100 * low) / steps}%`;
  brush.style.width = `${(100 * (high - low)) / steps}%`;
  const [since, until] = times(figure);
  const words = _`${timeText(since, { milliseconds: false })} to ${timeText(until, { milliseconds: false })}`;
  for (const handle of figure.querySelectorAll(".handle")) {
    const at = handle.dataset.end === "since" ? low : high;
    handle.style.left = `${(100 * at) / steps}%`;
    handle.setAttribute("aria-valuenow", at);
    handle.setAttribute("aria-valuetext", words);
  }
  const text = figure.querySelector("[data-range-text]");
  text.dataset.plain ??= text.textContent;
  text.textContent = all ? text.dataset.plain : _`${words} (${spanText(until - since)}); press Enter to apply`;
}

function times(figure) {
  const [low, high] = stateOf(figure);
  const since = Number(figure.dataset.since);
  const width = Number(figure.dataset.width);
  return [since + low * width, since + high * width];
}

function begin(event, onRange) {
  const plot = event.target.closest(".over-time .plot");
  if (!plot || event.button !== 0) return;
  const figure = figureOf(plot);
  const steps = stepsOf(figure);
  const box = plot.getBoundingClientRect();
  const step = (at, round) => Math.max(0, Math.min(steps, round(((at.clientX - box.left) / box.width) * steps)));
  const from = step(event, Math.floor);
  let dragged = false;
  const move = (now) => {
    if (Math.abs(now.clientX - event.clientX) < 4 && !dragged) return;
    dragged = true;
    const to = step(now, now.clientX < event.clientX ? Math.floor : Math.ceil);
    figure.range = [Math.min(from, to), Math.max(from + 1, to)];
    show(figure);
  };
  const end = (now) => {
    removeEventListener("pointermove", move);
    removeEventListener("pointerup", end);
    if (!dragged) {
      if (event.target.closest(".handle")) return;
      figure.range = [from, Math.min(steps, from + 1)];
      show(figure);
    } else {
      move(now);
    }
    onRange(...times(figure));
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
  if (!event.target.closest(".handle")) event.preventDefault();
}

function keys(event, onRange) {
  const handle = event.target.closest?.(".over-time .handle");
  if (!handle) return;
  const figure = figureOf(handle);
  const steps = stepsOf(figure);
  const range = stateOf(figure);
  const end = handle.dataset.end === "since" ? 0 : 1;
  const by = { ArrowLeft: -1, ArrowRight: 1, PageDown: -10, PageUp: 10, Home: -steps, End: steps }[event.key];
  if (by) {
    const low = end === 0 ? 0 : range[0] + 1;
    const high = end === 0 ? range[1] - 1 : steps;
    range[end] = Math.max(low, Math.min(high, range[end] + by));
    show(figure);
  } else if (event.key === "Enter") {
    onRange(...times(figure));
  } else if (event.key === "Escape") {
    figure.range = [0, steps];
    show(figure);
    say(_("Range cleared"));
  } else return;
  event.preventDefault();
  event.stopPropagation();
}
