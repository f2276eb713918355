// Events of a process over time, on a canvas: a lane for each kind, single marks if there is space,
// else a density bar. A slider next to the canvas is the cursor, and a table has the same data.

import { make, number } from "./dom.js";
import { timeText } from "./time.js";

export const LANES = [
  ["F", "filemod", _("files")], ["M", "modload", _("modules")], ["R", "regmod", _("registry")], ["N", "netconn", _("network")],
  ["C", "childproc", _("children")], ["X", "crossproc", _("cross-process")], ["B", "processblock", _("blocked")],
];
const LANE = 20;
const AXIS = 18;
const MINI = 14; // the whole time, with the visible part
const BINS = 240;
const LEFT = 22;
export const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 432e5, 864e5, 6048e5, 2592e6];

export class Timeline {
  // onSelect(index of the event), onRange(sinceMs, untilMs), onView(): the visible part has
  // changed.
  constructor(place, { onSelect, onRange, onView, describe }) {
    Object.assign(this, { place, onSelect, onRange, onView, describe });
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.cursor = make("div", { class: "timeline-cursor", role: "slider", tabindex: "0", "aria-label": _("Event on the timeline"), "aria-valuemin": "1", "aria-valuenow": "1" });
    place.append(this.canvas, this.cursor);
    this.height = LANES.length * LANE + AXIS + MINI;
    this.alerts = []; // times with alerts
    this.gaps = []; // [sinceMs, untilMs] with missing records
    this.borders = []; // times at which a further segment starts
    this.times = new Float64Array(0);
    this.lanes = LANES.map(() => new Uint32Array(0));
    this.density = [];
    this.at = -1;
    this.marked = null;
    this.frame = 0;
    new ResizeObserver(() => this.resize()).observe(place);
    this.listen();
  }

  // Sets events in chronological order: times in ms, and the lane of each. `density` has counts
  // where events are not loaded: [{t, width, lane, count}].
  set(times, lanes, density = [], span = null) {
    this.times = Float64Array.from(times);
    this.laneBy = Int8Array.from(lanes);
    const by = LANES.map(() => []);
    for (let index = 0; index < lanes.length; index += 1) if (lanes[index] >= 0) by[lanes[index]].push(index);
    this.lanes = by.map((one) => Uint32Array.from(one));
    this.density = density;
    const low = span?.[0] ?? this.times[0] ?? 0;
    const high = span?.[1] ?? this.times.at(-1) ?? low + 1000;
    const room = Math.max(500, (high - low) * 0.02);
    this.full = [low - room, high + room];
    this.view ??= [...this.full];
    if (!this.touched) this.view = [...this.full];
    this.bins = new Float64Array(BINS);
    const bin = (time, count) => (this.bins[Math.max(0, Math.min(BINS - 1, Math.floor(((time - this.full[0]) / (this.full[1] - this.full[0])) * BINS)))] += count);
    for (const time of this.times) bin(time, 1);
    for (const { t, width, count } of density) bin(t + width / 2, count);
    this.cursor.setAttribute("aria-valuemax", Math.max(1, times.length));
    this.later();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.place.clientWidth;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.height = `${this.height}px`;
    this.context = this.canvas.getContext("2d");
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.later();
  }

  later() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  x(ms) {
    return LEFT + ((ms - this.view[0]) / (this.view[1] - this.view[0])) * (this.width - LEFT);
  }

  ms(x) {
    return this.view[0] + ((x - LEFT) / (this.width - LEFT)) * (this.view[1] - this.view[0]);
  }

  colours() {
    const style = getComputedStyle(document.documentElement);
    const scheme = `${document.documentElement.dataset.theme}${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (this.scheme === scheme) return this.palette;
    this.scheme = scheme;
    const probe = make("i", { hidden: true });
    document.body.append(probe);
    const colour = (name) => {
      probe.style.color = style.getPropertyValue(name) || `var(${name})`;
      return getComputedStyle(probe).color;
    };
    const names = { fg: "--fg", fg3: "--fg3", line: "--line", accent: "--accent", high: "--high", selected: "--selected" };
    this.palette = Object.fromEntries(Object.entries(names).map(([key, name]) => [key, colour(name)]));
    probe.remove();
    return this.palette;
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    if (!this.context || !this.view || this.width < 40) return;
    const { context, width } = this;
    const colour = this.colours();
    context.clearRect(0, 0, width, this.height);
    if (this.marked) {
      context.fillStyle = colour.selected;
      context.fillRect(this.x(this.marked[0]), 0, this.x(this.marked[1]) - this.x(this.marked[0]), LANES.length * LANE);
    }
    this.drawGaps(colour);
    this.drawBorders(colour);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    LANES.forEach(([letter], lane) => {
      const y = lane * LANE + LANE / 2;
      context.fillStyle = colour.fg3;
      context.fillText(letter, 6, y);
      context.fillStyle = colour.line;
      context.fillRect(LEFT, (lane + 1) * LANE - 1, width - LEFT, 1);
      this.drawLane(lane, y, colour);
    });
    this.drawDensity(colour);
    this.drawAxis(colour);
    this.drawCursor(colour);
    this.drawAlerts(colour);
    this.drawWhole(colour);
    if (this.looked !== (this.looked = this.view.join())) this.onView?.();
  }

  drawLane(lane, y, colour) {
    const { context, times, width } = this;
    const events = this.lanes[lane];
    const first = lower(events, times, this.view[0]);
    const last = lower(events, times, this.view[1]);
    const scale = (width - LEFT) / (this.view[1] - this.view[0]);
    context.fillStyle = colour.accent;
    context.beginPath();
    let column = -1;
    let count = 0;
    const flush = () => {
      if (column < 0) return;
      if (count <= 2) {
        context.moveTo(column + 3, y);
        context.arc(column, y, 3, 0, 7);
      } else {
        const size = Math.min(LANE - 4, 4 + 3 * Math.log2(count));
        context.rect(column, y + LANE / 2 - 2 - size, 1, size);
      }
    };
    for (let at = first; at < last; at += 1) {
      const place = Math.round(LEFT + (times[events[at]] - this.view[0]) * scale);
      if (place !== column) {
        flush();
        column = place;
        count = 0;
      }
      count += 1;
    }
    flush();
    context.fill();
  }

  drawDensity(colour) {
    const { context } = this;
    context.fillStyle = colour.fg3;
    for (const { t, width, lane, count } of this.density) {
      const left = this.x(t);
      const right = this.x(t + width);
      if (right < LEFT || left > this.width || lane < 0) continue;
      const size = Math.min(LANE - 4, 4 + 2 * Math.log2(count + 1));
      context.fillRect(Math.max(LEFT, left), (lane + 1) * LANE - 2 - size, Math.max(1, right - left - 0.5), size);
    }
  }

  // Hatches times with missing records.
  drawGaps(colour) {
    const { context, width } = this;
    const bottom = LANES.length * LANE;
    context.strokeStyle = colour.fg3;
    for (const [since, until] of this.gaps) {
      const left = Math.max(LEFT, this.x(since));
      const right = Math.min(width, this.x(until));
      if (right <= left) continue;
      context.save();
      context.beginPath();
      context.rect(left, 0, right - left, bottom);
      context.clip();
      context.beginPath();
      for (let x = left - bottom - (left % 8); x < right; x += 8) {
        context.moveTo(x, bottom);
        context.lineTo(x + bottom, 0);
      }
      context.globalAlpha = 0.45;
      context.stroke();
      context.restore();
    }
  }

  drawBorders(colour) {
    const { context } = this;
    context.strokeStyle = colour.fg3;
    context.setLineDash([4, 4]);
    context.beginPath();
    for (const x of this.borders.map((time) => Math.round(this.x(time)) - 0.5).filter((one) => one >= LEFT && one <= this.width)) {
      context.moveTo(x, 0);
      context.lineTo(x, LANES.length * LANE);
    }
    context.stroke();
    context.setLineDash([]);
  }

  drawAlerts(colour) {
    const { context } = this;
    context.fillStyle = colour.high;
    context.beginPath();
    for (const x of this.alerts.map((time) => this.x(time)).filter((one) => one >= LEFT && one <= this.width)) {
      context.moveTo(x - 5, 0);
      context.lineTo(x + 5, 0);
      context.lineTo(x, 8);
    }
    context.fill();
  }

  drawWhole(colour) {
    const { context, width, height } = this;
    const top = height - MINI;
    const at = (ms) => LEFT + ((ms - this.full[0]) / (this.full[1] - this.full[0])) * (width - LEFT);
    const left = Math.max(LEFT, at(this.view[0]));
    context.fillStyle = colour.selected;
    context.fillRect(left, top, Math.max(2, Math.min(width, at(this.view[1])) - left), MINI);
    context.fillStyle = colour.fg3;
    const most = Math.log2(1 + Math.max(1, ...this.bins));
    this.bins.forEach((count, bin) => {
      const size = ((MINI - 2) * Math.log2(1 + count)) / most;
      if (count) context.fillRect(LEFT + (bin / BINS) * (width - LEFT), height - size, Math.max(1, (width - LEFT) / BINS - 0.5), size);
    });
    context.fillStyle = colour.accent;
    context.fillRect(left, top, Math.max(2, Math.min(width, at(this.view[1])) - left), 1);
  }

  drawAxis(colour) {
    const { context, width } = this;
    const span = this.view[1] - this.view[0];
    const step = STEPS.find((one) => (one / span) * (width - LEFT) >= 120) ?? STEPS.at(-1);
    const y = LANES.length * LANE + AXIS / 2;
    context.fillStyle = colour.fg3;
    for (let at = Math.ceil(this.view[0] / step) * step; at < this.view[1]; at += step) {
      const x = this.x(at);
      context.fillRect(x, LANES.length * LANE, 1, 4);
      if (x < width - 110) context.fillText(timeText(at, { day: step >= 864e5, seconds: step < 6e4, milliseconds: step < 1000 }), x + 4, y);
    }
  }

  drawCursor(colour) {
    if (this.at < 0) return;
    const { context } = this;
    const x = this.x(this.times[this.at]);
    context.fillStyle = colour.high;
    context.fillRect(x - 0.5, 0, 1.5, LANES.length * LANE);
    const lane = Math.max(0, this.laneBy[this.at]);
    context.beginPath();
    context.arc(x, lane * LANE + LANE / 2, 4.5, 0, 7);
    context.fill();
  }

  // Index of the event nearest to a position, -1 if none is within reach.
  hit(x, y) {
    const lane = Math.floor(y / LANE);
    const events = this.lanes[lane];
    if (!events?.length) return -1;
    const time = this.ms(x);
    const at = lower(events, this.times, time);
    const near = [events[at - 1], events[at]].filter((one) => one !== undefined);
    near.sort((a, b) => Math.abs(this.times[a] - time) - Math.abs(this.times[b] - time));
    return near.length && Math.abs(this.x(this.times[near[0]]) - x) <= 8 ? near[0] : -1;
  }

  select(index, { quiet = false } = {}) {
    if (index < 0 || index >= this.times.length) return;
    this.at = index;
    const time = this.times[index];
    const size = this.view[1] - this.view[0];
    if (time < this.view[0] || time > this.view[1]) this.view = [time - size / 2, time + size / 2];
    this.cursor.setAttribute("aria-valuenow", index + 1);
    this.cursor.setAttribute("aria-valuetext", _`${this.describe(index)}, mark ${index + 1} of ${this.times.length}`);
    this.later();
    if (!quiet) this.onSelect?.(index);
  }

  // The mark after the selected one, or before it; without a selection, the first in view.
  beside(by) {
    const at = this.at < 0 ? this.times.findIndex((time) => time >= this.view[0]) - (by > 0) : this.at;
    return Math.max(0, Math.min(this.times.length - 1, at + by));
  }

  zoom(factor, around = (this.view[0] + this.view[1]) / 2) {
    const size = Math.max(5, (this.view[1] - this.view[0]) * factor);
    const share = (around - this.view[0]) / (this.view[1] - this.view[0]);
    this.view = [around - size * share, around + size * (1 - share)];
    this.touched = true;
    this.later();
  }

  pan(share) {
    const by = (this.view[1] - this.view[0]) * share;
    this.view = [this.view[0] + by, this.view[1] + by];
    this.touched = true;
    this.later();
  }

  fit() {
    this.view = [...this.full];
    this.touched = false;
    this.later();
  }

  mark() {
    const time = this.times[this.at] ?? this.view[0];
    if (this.pending === undefined) {
      this.pending = time;
    } else {
      this.marked = [Math.min(this.pending, time), Math.max(this.pending, time)];
      this.pending = undefined;
      this.onRange?.(...this.marked);
    }
    this.later();
  }

  listen() {
    const spot = (event) => {
      const box = this.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      if (event.shiftKey) this.pan(Math.sign(event.deltaY) * 0.1);
      else this.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, this.ms(spot(event)[0]));
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      const from = spot(event);
      const view = [...this.view];
      let moved = false;
      const whole = ([x]) => {
        const middle = this.full[0] + ((x - LEFT) / (this.width - LEFT)) * (this.full[1] - this.full[0]);
        this.pan((middle - (this.view[0] + this.view[1]) / 2) / (this.view[1] - this.view[0]));
        moved = true;
      };
      const onWhole = from[1] > this.height - MINI;
      if (onWhole) whole(from);
      const move = (now) => {
        if (onWhole) return whole(spot(now));
        const to = spot(now);
        if (Math.abs(to[0] - from[0]) < 3 && !moved) return;
        moved = true;
        const by = ((from[0] - to[0]) / (this.width - LEFT)) * (view[1] - view[0]);
        this.view = [view[0] + by, view[1] + by];
        this.touched = true;
        this.later();
      };
      const end = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
        if (!moved) this.select(this.hit(...from));
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
    });
    this.cursor.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const on = {
      ArrowRight: () => (event.shiftKey ? this.pan(0.1) : this.select(this.beside(1))),
      ArrowLeft: () => (event.shiftKey ? this.pan(-0.1) : this.select(this.beside(-1))),
      Home: () => this.select(0), End: () => this.select(this.times.length - 1),
      "+": () => this.zoom(0.5, this.times[this.at]), "-": () => this.zoom(2, this.times[this.at]), 0: () => this.fit(), m: () => this.mark(),
    }[event.key];
    if (!on) return;
    on();
    event.preventDefault();
    event.stopPropagation();
  }

  // The timeline as a table: a row per interval, a column per kind.
  table(buckets, interval) {
    const holds = (start) => this.borders.some((time) => start <= time && time < start + interval);
    const head = make("tr", {}, make("th", { scope: "col" }, _("From")), ...LANES.map(([letter, , label]) => make("th", { scope: "col", class: "num" }, make("abbr", { title: label }, letter))));
    const body = buckets.slice(0, 500).map(({ start, event_counts: counts }) =>
      make("tr", {}, make("td", {}, timeText(Date.parse(start), { milliseconds: false }), this.gaps.some(([since, until]) => since <= Date.parse(start) && Date.parse(start) < until) ? _(" (gaps)") : "", holds(Date.parse(start)) ? _(" (record starts)") : ""), ...LANES.map(([, kind]) => make("td", { class: "num" }, counts[kind] ? number(counts[kind]) : "·"))),
    );
    return make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
  }
}

// Index of the first event of a lane at or after a time.
function lower(events, times, time) {
  let low = 0;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[events[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
