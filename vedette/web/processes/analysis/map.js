// The process tree as a map on a canvas. It has no keys of its own: the map follows the treegrid,
// and a click selects in both.

import { make } from "./dom.js";
import { nameOf } from "./tree.js";
import { plain } from "./untrusted.js";

const MOST = 20_000;
const ROW = 22;
const COLUMN = 150;

export class ProcessMap {
  constructor(place, { onSelect }) {
    this.place = place;
    this.onSelect = onSelect;
    this.canvas = make("canvas", { "aria-hidden": "true" });
    place.append(this.canvas);
    this.scale = 1;
    this.offset = [20, 20];
    this.nodes = [];
    this.frame = 0;
    this.selected = "";
    new ResizeObserver(() => this.resize()).observe(place);
    this.listen();
  }

  set(tree) {
    const made = new Map();
    const top = { id: "", children: [], node: null };
    for (const node of [...tree.nodes.values()].filter(({ id }) => !tree.hidden.has(id)).slice(0, MOST)) made.set(node.id, { id: node.id, node, children: [] });
    for (const one of made.values()) (made.get(one.node.parent_id) ?? top).children.push(one);
    const only = top.children.length === 1 ? top.children[0] : top;
    this.nodes = placed(only).filter((one) => one.node);
    this.byId = new Map(this.nodes.map((one) => [one.id, one]));
    this.rows = [...this.nodes].sort((a, b) => a.x - b.x);
    this.selected ||= tree.selected;
    this.fit();
  }

  // All of a small tree; of a large tree the area around the selection.
  fit() {
    const xs = this.nodes.map((one) => one.x);
    const width = Math.max(0, ...this.nodes.map((one) => one.y)) + COLUMN;
    const [top, bottom] = xs.reduce(([low, high], x) => [Math.min(low, x), Math.max(high, x)], [0, 0]);
    const scale = Math.min(1, (this.width - 24) / width, (this.height - 40) / (bottom - top + ROW));
    if (scale < 0.8) { // names would cover each other
      this.follow(this.selected, true);
      return;
    }
    this.scale = scale;
    this.offset = [14, this.height / 2 - ((top + bottom) / 2) * scale];
    this.later();
  }

  resize() {
    const ratio = devicePixelRatio || 1;
    this.width = this.place.clientWidth;
    this.height = this.place.clientHeight;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.height * ratio;
    this.canvas.style.height = `${this.height}px`;
    this.context = this.canvas.getContext("2d");
    this.ratio = ratio;
    this.later();
  }

  follow(id, centre = false) {
    this.selected = id;
    const one = this.byId?.get(id);
    if (one) {
      const [x, y] = this.spot(one);
      if (centre || x < 0 || y < 0 || x > this.width - 120 || y > this.height - 20) {
        this.offset = [this.width / 3 - one.y * this.scale, this.height / 2 - one.x * this.scale];
      }
    }
    this.later();
  }

  spot(one) {
    return [one.y * this.scale + this.offset[0], one.x * this.scale + this.offset[1]];
  }

  later() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  colours() {
    const style = getComputedStyle(this.place);
    return { fg: style.color, line: style.borderColor, accent: style.outlineColor, bg: style.backgroundColor };
  }

  draw() {
    this.frame = 0;
    if (!this.context || !this.nodes.length) return;
    const { context, width, height, scale } = this;
    const colour = this.colours();
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const low = (-this.offset[1] - 40) / scale;
    const high = (height - this.offset[1] + 40) / scale;
    const seen = this.rows.slice(first(this.rows, low), first(this.rows, high));
    context.strokeStyle = colour.line;
    context.lineWidth = 1;
    context.beginPath();
    for (const one of seen) {
      if (!one.parent?.node) continue;
      const [x, y] = this.spot(one);
      const [px, py] = this.spot(one.parent);
      if (x < -COLUMN * scale || px > width) continue;
      context.moveTo(px + 8, py);
      context.bezierCurveTo((px + x) / 2, py, (px + x) / 2, y, x - 6, y);
    }
    context.stroke();
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const one of seen) {
      const [x, y] = this.spot(one);
      if (x < -COLUMN || x > width) continue;
      const chosen = one.id === this.selected;
      context.fillStyle = chosen ? colour.accent : colour.fg;
      context.beginPath();
      context.arc(x, y, chosen ? 5 : 3.5, 0, 7);
      if (one.node.missing) context.stroke();
      else context.fill();
      if (scale <= 0.45) continue;
      const text = plain(nameOf(one.node)).slice(0, 26);
      context.strokeStyle = colour.bg;
      context.lineWidth = 4;
      context.strokeText(text, x + 9, y);
      context.fillText(text, x + 9, y);
      context.strokeStyle = colour.line;
      context.lineWidth = 1;
    }
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const next = Math.max(0.05, Math.min(3, this.scale * factor));
    this.offset = [x - ((x - this.offset[0]) * next) / this.scale, y - ((y - this.offset[1]) * next) / this.scale];
    this.scale = next;
    this.later();
  }

  listen() {
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      this.zoom(event.deltaY > 0 ? 1 / 1.2 : 1.2, event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.canvas.addEventListener("pointerdown", (event) => {
      const from = [event.clientX, event.clientY];
      const was = [...this.offset];
      let moved = false;
      const move = (now) => {
        if (Math.hypot(now.clientX - from[0], now.clientY - from[1]) > 3) moved = true;
        this.offset = [was[0] + now.clientX - from[0], was[1] + now.clientY - from[1]];
        this.later();
      };
      const end = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
        if (!moved) this.pick(event);
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
    });
  }

  pick(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const near = this.nodes.find((one) => {
      const [nx, ny] = this.spot(one);
      return x > nx - 8 && x < nx + 150 * Math.min(1, this.scale) && Math.abs(ny - y) < 10;
    });
    if (near) this.onSelect(near.node);
  }
}

// Places leaves below each other and a parent in the middle of its children. The parent is first.
function placed(root) {
  const order = [];
  const stack = [root];
  let leaves = 0;
  while (stack.length) {
    const one = stack.pop();
    one.y = one.parent?.node ? one.parent.y + COLUMN : 0;
    if (!one.children.length) one.x = ROW * leaves++;
    order.push(one);
    for (const child of [...one.children].reverse()) stack.push(Object.assign(child, { parent: one }));
  }
  for (const one of [...order].reverse()) {
    if (one.children.length) one.x = (one.children[0].x + one.children.at(-1).x) / 2;
  }
  return order;
}

function first(rows, x) {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rows[middle].x < x) low = middle + 1;
    else high = middle;
  }
  return low;
}
