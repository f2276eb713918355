// The query line: grows, completes fields and values, and explains the query while typing: errors
// with their position, matches per term, slow terms.

import { get } from "./api.js";
import { make, number } from "./dom.js";
import { untrusted } from "./untrusted.js";

const IDLE_MS = 400;
const LEVELS = { low: _("low"), medium: _("medium"), high: _("high") };
const PLAIN = /^(?:[^\s()"\\]|\\[^\s()"\\])+$/u;

// A term of the query language that matches only this value.
export function term(field, value) {
  if (PLAIN.test(value) && !/^[[{]/.test(value)) return `${field}:${value}`;
  return `${field}:"${value.replace(/\\(?=[\s()"\\]|$)/g, "\\\\").replaceAll('"', '\\"')}"`;
}

const without = (query, one) => query.split(one).map((part) => part.trim()).filter(Boolean).join(" ");

// The query with a value included, excluded, or alone. Repeating it reverts the change.
export function narrowedQuery(query, { field, value, how }) {
  const one = term(field, value);
  const has = (text) => ` ${query} `.includes(` ${text} `);
  if (how === "only") return one;
  const wanted = how === "exclude" ? `-${one}` : one;
  const other = how === "exclude" ? one : `-${one}`;
  if (has(wanted)) return without(` ${query} `, ` ${wanted} `);
  const rest = has(other) ? without(` ${query} `, ` ${other} `) : query.trim();
  const inner = /\bor\b/i.test(rest) ? `(${rest})` : rest;
  return `${inner} ${wanted}`.trim();
}

export const recentQueries = (index) => JSON.parse(sessionStorage.getItem(`queries.${index}`) ?? "[]");

export function startQuery(field) {
  const form = field.form;
  const help = document.getElementById("query-help");
  const list = document.getElementById("suggestions");
  const back = field.parentElement.querySelector(".query-back");
  const index = field.dataset.queryIndex;
  let timer = 0;
  let asking = null;
  let at = -1;
  const history = recentQueries(index);

  const grow = () => {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight + 2, 220)}px`;
  };
  const underline = (start, end) => {
    back.replaceChildren();
    if (start === undefined || end <= start) return;
    const text = field.value;
    back.append(text.slice(0, start), make("span", { class: "wrong" }, text.slice(start, end)), text.slice(end));
  };
  const close = () => {
    list.hidden = true;
    at = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  };

  async function explain() {
    asking?.abort();
    asking = new AbortController();
    const query = field.value.trim();
    if (!query) {
      help.replaceChildren();
      underline();
      return;
    }
    try {
      const found = await get(`/api/v1/query/explain?${new URLSearchParams({ q: field.value })}`, { signal: asking.signal });
      underline();
      showTerms(found);
    } catch (error) {
      if (error.name === "AbortError") return;
      underline(error.body?.start, error.body?.end);
      help.replaceChildren(make("span", { class: "warn-text" }, untrusted(error.message)));
    }
  }

  function showTerms(found) {
    const level = found.predicted_cost.level;
    const chips = found.terms.slice(0, 12).map((one) =>
      make("span", { class: one.segments === 0 ? "term none" : "term" }, make("code", {}, untrusted(one.term, { short: true })), " ", make("b", {}, number(one.segments))),
    );
    const hints = found.hints.slice(0, 2).map(({ term: text, hint }) => make("span", { class: "hint" }, untrusted(text, { short: true }), ` ${hint}`));
    help.replaceChildren(...chips, make("span", { class: `cost cost-${level in LEVELS ? level : "low"}` }, _`effort: ${LEVELS[level] ?? level}`), ...hints);
  }

  async function suggest() {
    const caret = field.selectionStart;
    try {
      const params = new URLSearchParams({ index, q: field.value, at: caret });
      const found = await get(`/api/v1/query/suggest?${params}`);
      if (field.selectionStart !== caret || document.activeElement !== field || !found.length) return close();
      list.replaceChildren(
        ...found.map((one, number_) => {
          const item = make("li", { role: "option", id: `suggestion-${number_}`, "aria-selected": "false" }, untrusted(one.text), make("span", { class: "meta" }, one.count ? number(one.count) : one.kind));
          item.addEventListener("pointerdown", (event) => {
            event.preventDefault();
            take(one);
          });
          item.suggestion = one;
          return item;
        }),
      );
      list.hidden = false;
      field.setAttribute("aria-expanded", "true");
    } catch {
      close();
    }
    return undefined;
  }

  function take(one) {
    const caret = field.selectionStart;
    field.setRangeText(one.text, one.start, caret, "end");
    close();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  function move(step) {
    const items = [...list.children];
    at = (at + step + items.length) % items.length;
    items.forEach((item, index_) => item.setAttribute("aria-selected", String(index_ === at)));
    field.setAttribute("aria-activedescendant", items[at].id);
    items[at].scrollIntoView({ block: "nearest" });
  }

  field.addEventListener("input", () => {
    grow();
    underline();
    clearTimeout(timer);
    timer = setTimeout(() => {
      explain();
      suggest();
    }, IDLE_MS);
  });
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    const open = !list.hidden;
    if (event.ctrlKey && event.key === " ") suggest();
    else if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) move(event.key === "ArrowDown" ? 1 : -1);
    else if (open && event.key === "Escape") close();
    else if (open && at >= 0 && (event.key === "Enter" || event.key === "Tab")) take(list.children[at].suggestion);
    else if (event.key === "Enter" && !event.shiftKey) {
      close();
      form.requestSubmit();
    } else if (!open && event.key === "ArrowUp" && !field.value.slice(0, field.selectionStart).includes("\n") && history.length) {
      const position = history.indexOf(field.value);
      field.value = history[(position + 1) % history.length];
      field.dispatchEvent(new Event("input", { bubbles: true }));
    } else if (event.key === "Escape") field.blur();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  form.addEventListener("submit", () => {
    const text = field.value.trim();
    if (text && history[0] !== text) {
      history.unshift(text);
      sessionStorage.setItem(`queries.${index}`, JSON.stringify(history.slice(0, 50)));
    }
  });
  grow();
  if (field.value) explain();
}
