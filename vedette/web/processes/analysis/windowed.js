// A list that creates elements only for visible rows, so that 50,000 rows cost as much as 50. Rows
// have the same height, and their elements are reused. The list has the focus, and a row is active.

import { make, say } from "./dom.js";

const SPARE = 6;

export class Windowed {
  // fill(element, row, index) writes a row; name(row, index) is announced when it becomes active;
  // on: {select(row, index), open(row, index)}.
  constructor(place, { role = "grid", rowRole = "row", height = 24, fill, name, on = {} }) {
    Object.assign(this, { place, height, fill, name, on, rows: [], active: -1, pool: [], rowRole });
    place.classList.add("windowed");
    place.setAttribute("role", role);
    place.tabIndex = 0;
    this.view = make("div", { role: "presentation" }); // moved as a whole: a transform per row costs more than its contents
    this.space = make("div", { class: "windowed-space", role: "presentation" }, this.view);
    place.append(this.space);
    this.frame = 0;
    place.addEventListener("scroll", () => this.later(), { passive: true });
    place.addEventListener("keydown", (event) => this.key(event));
    place.addEventListener("click", (event) => this.click(event));
    place.addEventListener("dblclick", (event) => this.click(event, true));
    new ResizeObserver(() => this.later()).observe(place);
    addEventListener("beforeprint", () => this.draw(1000));
    addEventListener("afterprint", () => this.later());
  }

  set(rows, { keep = true } = {}) {
    const was = this.rows[this.active];
    this.rows = rows;
    this.active = keep && was ? rows.indexOf(was) : -1;
    this.space.style.height = `${rows.length * this.height}px`;
    this.place.setAttribute("aria-rowcount", rows.length);
    this.draw();
  }

  later() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.draw());
  }

  // Draws the visible rows, or for printing as many as are printed from the first on.
  draw(printed) {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    const first = printed ? 0 : Math.max(0, Math.floor(this.place.scrollTop / this.height) - SPARE);
    const count = Math.min(this.rows.length - first, printed ?? Math.ceil(this.place.clientHeight / this.height) + 2 * SPARE);
    while (this.pool.length < count) {
      const element = make("div", { class: "windowed-row", role: this.rowRole });
      this.pool.push(element);
      this.view.append(element);
    }
    this.view.style.transform = `translateY(${first * this.height}px)`;
    this.pool.forEach((element, number) => {
      const index = first + number;
      element.hidden = number >= count;
      if (element.hidden) return;
      element.index = index;
      element.id = `${this.place.id}-${index}`;
      element.setAttribute("aria-rowindex", index + 1);
      element.setAttribute("aria-selected", String(index === this.active));
      this.fill(element, this.rows[index], index);
    });
    if (this.active >= 0) this.place.setAttribute("aria-activedescendant", `${this.place.id}-${this.active}`);
    else this.place.removeAttribute("aria-activedescendant");
  }

  // Makes a row active and scrolls it into view.
  go(index, { quiet = false, centre = false } = {}) {
    if (!this.rows.length) return;
    this.active = Math.max(0, Math.min(this.rows.length - 1, index));
    const top = this.active * this.height;
    const view = this.place.clientHeight;
    if (centre) this.place.scrollTop = top - view / 2;
    else if (top < this.place.scrollTop) this.place.scrollTop = top;
    else if (top + this.height > this.place.scrollTop + view) this.place.scrollTop = top + this.height - view;
    this.draw();
    const row = this.rows[this.active];
    if (this.name && document.activeElement === this.place) say(this.name(row, this.active));
    if (!quiet) this.on.select?.(row, this.active);
  }

  click(event, twice = false) {
    const element = event.target.closest(".windowed-row");
    if (!element || event.target.closest("a, button")) return;
    if (twice) this.on.open?.(this.rows[element.index], element.index);
    else if (this.on.click?.(event, this.rows[element.index], element.index) !== true) this.go(element.index);
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor(this.place.clientHeight / this.height) - 1);
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -this.rows.length, End: this.rows.length }[event.key];
    const row = this.rows[this.active];
    if (this.on.key?.(event, row, this.active)) {
      // The list handles this key itself.
    } else if (by && !event.shiftKey) {
      this.go(this.active < 0 ? 0 : this.active + by);
    } else if (event.key === "Enter" && row) {
      this.on.open?.(row, this.active);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
