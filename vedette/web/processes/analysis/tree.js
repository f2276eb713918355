// The process tree as a windowed treegrid. Nodes have the form of the tree route; missing children
// are loaded when their parent is expanded.

import { icon, make, number } from "./dom.js";
import { spanText, timeText } from "./time.js";
import { plain, untrusted } from "./untrusted.js";
import { Windowed } from "./windowed.js";

const LETTERS = [["F", "filemod"], ["M", "modload"], ["R", "regmod"], ["N", "netconn"], ["C", "childproc"], ["X", "crossproc"]];
const OPEN_MAX = 200; // trees with at most so many nodes start expanded
const MISSING = {
  never_seen: _("never seen"), suppressed: _("suppressed"), partition_unmounted: _("in unmounted data"), expired: _("expired"), not_permitted: _("not permitted"),
};

const HELPERS = new Set("conhost.exe openconsole.exe chcp.com tput tty stty uname dircolors lesspipe basename dirname mesg clear_console groups locale".split(" ")); // started by shells themselves

const startOf = (node) => (node.start ? Date.parse(node.start) : NaN);
export const nameOf = (node) => node.label.process_name || node.label.path || _("unknown");
const missingText = (node) => MISSING[node.missing] ?? String(node.missing).replaceAll("_", " ");

export class ProcessTree {
  constructor(place, { onSelect, onOpen, load }) {
    this.load = load;
    this.nodes = new Map();
    this.children = new Map();
    this.open = new Set();
    this.shows = new Set(); // what to omit: helpers, same (file), marked (all others)
    this.alerts = new Set(); // processes with alerts
    this.list = new Windowed(place, {
      role: "treegrid",
      fill: (element, row) => this.fill(element, row),
      name: (row) => this.spoken(row),
      on: {
        select: (row) => onSelect?.(row.node),
        open: (row) => onOpen?.(row.node),
        click: (event, row) => event.target.closest(".twisty") && (this.toggle(row), true),
        key: (event, row, index) => this.key(event, row, index),
      },
    });
    this.onSelect = onSelect;
  }

  // Adds nodes; parents may be added after children.
  add(nodes) {
    for (const node of nodes) {
      if (this.nodes.has(node.id)) {
        if (!node.has_more_children) this.nodes.get(node.id).has_more_children = false;
        continue;
      }
      if (this.closesCycle(node)) node.parent_id = "";
      this.nodes.set(node.id, node);
      const parent = node.parent_id || "";
      if (!this.children.has(parent)) this.children.set(parent, []);
      this.children.get(parent).push(node);
    }
    for (const siblings of this.children.values()) siblings.sort((a, b) => (startOf(a) || 0) - (startOf(b) || 0));
  }

  // Whether the node would be its own ancestor, which records of a host may claim. All loops up the
  // tree rely on add() to omit such parents.
  closesCycle({ id, parent_id }) {
    if (id !== parent_id && !this.children.has(id)) return false;
    for (let at = parent_id; at; at = this.nodes.get(at)?.parent_id) if (at === id) return true;
    return false;
  }

  show({ root, selected }) {
    this.root = root;
    this.selected = selected;
    for (let at = selected; at && this.nodes.has(at); at = this.nodes.get(at).parent_id) this.open.add(at);
    if (this.nodes.size <= OPEN_MAX) for (const node of this.nodes.keys()) this.open.add(node);
    this.refresh();
    this.select(selected, { quiet: true });
  }

  // Determines hidden nodes, and siblings that are represented by another one with the same file.
  // Nodes with alerts, the selected node and its ancestors are always shown.
  sift() {
    const { shows, nodes } = this;
    Object.assign(this, { hidden: new Set(), copies: new Map(), copyOf: new Map() });
    if (!shows.size) return;
    const kept = new Set();
    for (const node of nodes.values()) {
      if (!this.alerts.has(node.id) && node.id !== this.selected) continue;
      for (let at = node; at && !kept.has(at.id); at = nodes.get(at.parent_id)) kept.add(at.id);
    }
    for (const siblings of this.children.values()) {
      const firstOf = new Map();
      for (const node of siblings.filter(({ id }) => !kept.has(id))) {
        const { id, process_md5: md5 } = node;
        const isLeaf = !this.children.has(id) && !node.has_more_children;
        if (shows.has("marked") || (shows.has("helpers") && isLeaf && HELPERS.has(nameOf(node).toLowerCase()))) this.hidden.add(id);
        else if (shows.has("same") && isLeaf && md5) {
          const first = firstOf.get(md5);
          if (first) {
            this.copyOf.set(id, first);
            this.copies.set(first, [...(this.copies.get(first) ?? []), node]);
          } else firstOf.set(md5, id);
        }
      }
    }
  }

  childrenOf(id) {
    return (this.children.get(id) ?? []).filter((one) => !this.hidden.has(one.id) && !this.copyOf.has(one.id));
  }

  // Whether a row is expanded to show its children, or the nodes that it represents.
  isOpen(node) {
    return this.open.has(this.keyOf(node));
  }

  keyOf({ id }) {
    return this.copies.has(id) ? `=${id}` : id;
  }

  refresh() {
    this.sift();
    const rows = [];
    const seen = new Set();
    const stack = this.tops().reverse().map((node) => [node, 1]);
    while (stack.length) {
      const [node, level] = stack.pop();
      if (seen.has(node.id)) continue;
      seen.add(node.id);
      const copies = this.copies.get(node.id) ?? [];
      const children = [...this.childrenOf(node.id), ...copies];
      const siblings = this.childrenOf(node.parent_id || "");
      rows.push({ node, level, size: siblings.length || 1, children: children.length, copies: copies.length });
      if (this.isOpen(node)) for (let at = children.length - 1; at >= 0; at -= 1) stack.push([children[at], level + 1]);
    }
    const active = this.list.rows[this.list.active]?.node.id;
    this.rowsById = new Map(rows.map((row, index) => [row.node.id, index]));
    this.list.set(rows, { keep: false });
    if (active !== undefined && this.rowsById.has(active)) this.list.go(this.rowsById.get(active), { quiet: true });
  }

  tops() {
    return [...this.nodes.values()].filter((node) => !this.nodes.has(node.parent_id) && !this.hidden.has(node.id) && !this.copyOf.has(node.id));
  }

  select(id, options = {}) {
    for (let at = this.nodes.get(id)?.parent_id; at && this.nodes.has(at); at = this.nodes.get(at).parent_id) {
      if (!this.open.has(at)) {
        this.open.add(at);
        options.changed = true;
      }
    }
    const first = this.copyOf.get(id);
    if (first && !this.open.has(`=${first}`)) {
      this.open.add(`=${first}`);
      options.changed = true;
    }
    if (options.changed) this.refresh();
    if (this.rowsById.has(id)) this.list.go(this.rowsById.get(id), { centre: true, ...options });
  }

  async toggle(row, on = !this.isOpen(row.node)) {
    if (on && row.node.has_more_children && this.load) {
      row.node.has_more_children = false;
      const found = await this.load(row.node);
      row.node.has_more_children = !found; // it can be expanded once more
      if (!found) return;
      this.add(found);
    }
    if (on) this.open.add(this.keyOf(row.node));
    else this.open.delete(this.keyOf(row.node));
    this.refresh();
  }

  key(event, row, index) {
    if (!row) return false;
    const isOpen = this.isOpen(row.node) && row.children > 0;
    const parent = this.rowsById.get(row.node.parent_id);
    if (event.shiftKey && event.key === "ArrowUp") {
      if (parent !== undefined) this.list.go(parent);
    } else if (event.key === "ArrowRight") {
      if (!isOpen && (row.children || row.node.has_more_children)) this.toggle(row, true);
      else if (isOpen) this.list.go(index + 1);
    } else if (event.key === "ArrowLeft") {
      if (isOpen) this.toggle(row, false);
      else if (parent !== undefined) this.list.go(parent);
    } else if (event.key === "*") {
      for (const one of this.children.get(row.node.parent_id || "") ?? []) this.open.add(one.id);
      this.refresh();
    } else return false;
    return true;
  }

  // Finds the next node whose name, path or command line contains a text; -1 searches backwards.
  find(text, by = 1) {
    const wanted = text.toLowerCase();
    if (!wanted) return false;
    const all = [...this.nodes.values()].filter(({ id }) => !this.hidden.has(id));
    const from = all.findIndex((node) => node.id === this.list.rows[this.list.active]?.node.id);
    for (let step = 1; step <= all.length; step += 1) {
      const node = all[(from + by * step + all.length * step) % all.length];
      if (`${node.label.process_name} ${node.label.path} ${node.label.cmdline}`.toLowerCase().includes(wanted)) {
        this.select(node.id);
        return true;
      }
    }
    return false;
  }

  fill(element, row) {
    const { node, level } = row;
    element.classList.toggle("chosen", node.id === this.selected);
    element.classList.toggle("missing", Boolean(node.missing));
    element.setAttribute("aria-level", level);
    element.setAttribute("aria-setsize", row.size);
    const expandable = row.children || node.has_more_children;
    if (expandable) element.setAttribute("aria-expanded", String(this.isOpen(node)));
    else element.removeAttribute("aria-expanded");
    const isOpen = this.isOpen(node);
    const hasAlert = this.alerts.has(node.id);
    const now = [level, isOpen, row.copies, hasAlert, document.documentElement.dataset.zone].join();
    if (element.shown === node && element.now === now) return;
    Object.assign(element, { shown: node, now });
    const parent = this.nodes.get(node.parent_id);
    const delta = parent ? startOf(node) - startOf(parent) : NaN;
    if (!element.firstChild) {
      element.append(make("span", { class: "lead", role: "gridcell" }, make("span", { "aria-hidden": "true" }), make("b"), make("span", { class: "pid" })));
      element.append(make("span", { class: "counts", role: "gridcell" }), make("span", { class: "delta", role: "gridcell" }));
    }
    const [lead, events, when] = element.children;
    const [twisty, name, pid, ...others] = lead.children;
    for (const one of others) one.remove();
    lead.style.paddingLeft = `${Math.min(level - 1, 24) * 14}px`;
    twisty.className = expandable ? "twisty" : "leaf";
    twisty.textContent = expandable ? (isOpen ? "▾" : "▸") : "";
    name.replaceChildren(untrusted(nameOf(node), { short: true }));
    pid.textContent = node.process_pid || "";
    if (row.copies) lead.append(make("span", { class: "meta" }, `× ${number(row.copies + 1)}`));
    if (node.missing) lead.append(make("span", { class: "meta" }, missingText(node)));
    if (hasAlert) lead.append(icon("sev-high"));
    if (node.username && parent && parent.username && node.username !== parent.username) lead.append(make("span", { class: "meta" }, untrusted(node.username, { short: true })));
    events.textContent = LETTERS.map(([letter, kind]) => [letter, node.event_counts?.[kind]]).filter(([, count]) => count).map(([letter, count]) => `${letter}${number(count)}`).join(" ");
    when.textContent = Number.isFinite(delta) && delta >= 0 ? `+${spanText(delta)}` : Number.isFinite(startOf(node)) ? timeText(startOf(node), { milliseconds: false, day: false }) : "";
    element.title = plain(node.label.cmdline || node.label.path).slice(0, 600);
  }

  spoken(row) {
    const { node } = row;
    return _`${plain(nameOf(node))}, pid ${node.process_pid}, level ${row.level}, ${row.children} children${node.missing ? `, ${missingText(node)}` : ""}${this.alerts.has(node.id) ? _(", with an alert") : ""}`;
  }

  // The tree as indented text, for tickets.
  asText() {
    return this.list.rows.map(({ node, level }) => `${"  ".repeat(level - 1)}${plain(nameOf(node))} ${node.process_pid} ${node.start ?? ""} ${plain(node.label.cmdline)}`.trimEnd()).join("\n");
  }
}
