// Separators that move by keys or dragging. The width is a CSS variable of the page and a
// preference of the reader.

import { keep, prefer, preference } from "./preferences.js";

// From a pointer position to a width: % of the tree's container, rem from the right edge.
const WIDTHS = {
  tree: (x, { left, width }) => (100 * (x - left)) / width,
  flyout: (x) => (innerWidth - x) / 16,
};

function start(bar) {
  const name = bar.dataset.split;
  const wider = name === "flyout" ? "ArrowLeft" : "ArrowRight";
  const least = Number(bar.getAttribute("aria-valuemin"));
  const most = () => (name === "flyout" ? Math.max(least, Math.min(60, Math.round(innerWidth / 32))) : 70);
  const show = () => {
    bar.setAttribute("aria-valuemax", most());
    bar.setAttribute("aria-valuenow", Math.min(most(), preference(name)));
  };
  const move = (to) => {
    keep({ [name]: Math.round(Math.max(least, Math.min(most(), to))) });
    show();
  };
  const done = () => prefer(name, preference(name)); // stored on the server too
  const shown = () => Number(bar.getAttribute("aria-valuenow"));
  bar.addEventListener("keydown", (event) => {
    const by = { Home: -100, End: 100, ArrowLeft: -2, ArrowRight: -2, [wider]: 2 }[event.key];
    if (!by || event.ctrlKey) return;
    move(shown() + by);
    event.preventDefault();
  });
  bar.addEventListener("keyup", ({ key }) => /^(Home|End|Arrow)/.test(key) && done());
  bar.addEventListener("pointerdown", (event) => {
    bar.setPointerCapture(event.pointerId);
    const box = bar.parentElement.getBoundingClientRect();
    const drag = (now) => move(WIDTHS[name](now.clientX, box));
    bar.addEventListener("pointermove", drag);
    bar.addEventListener("lostpointercapture", () => {
      bar.removeEventListener("pointermove", drag);
      done();
    }, { once: true });
  });
  addEventListener("resize", show);
  document.addEventListener("look", show);
  show();
}

export const startSplitters = () => document.querySelectorAll("[role=separator]").forEach(start);
