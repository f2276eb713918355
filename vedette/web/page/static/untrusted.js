// Makes text from telemetry safe to show: the counterpart of vedette/web/page/untrusted.py.

const HIDDEN = new RegExp(
  "[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180e" +
    "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb" +
    "\\ud800-\\udfff\\u{e0000}-\\u{e0fff}]",
  "gu",
);
const SHOWN = 4096; // characters of a value shown: SHOWN_VALUE_CHARS_MAX
const CONFUSABLE = ["Latin", "Cyrillic", "Greek", "Armenian", "Cherokee", "Coptic"].map((name) => [
  name,
  new RegExp(`\\p{Script=${name}}`, "u"),
]);

// The pieces of a text in order: [is a boxed code, text to show].
export function parts(text) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (match.index > at) found.push([false, text.slice(at, match.index)]);
    found.push([true, `U+${match[0].codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`]);
    at = match.index + match[0].length;
  }
  if (at < text.length) found.push([false, text.slice(at)]);
  return found;
}

// A plain string, for places without elements: canvas, titles, screen readers.
export function plain(value) {
  return parts(String(value ?? "")).map(([, piece]) => piece).join("");
}

// Whether a word has letters of several scripts that are easily confused.
export function mixesScripts(text) {
  if (/^[\0-\x7f]*$/.test(text)) return false;
  return (text.match(/\p{L}+/gu) ?? []).some(
    (word) => CONFUSABLE.filter(([, pattern]) => pattern.test(word)).length > 1,
  );
}

// An isolated run of text nodes.
export function untrusted(value, { short = false } = {}) {
  const text = String(value ?? "");
  const run = document.createElement("bdi");
  run.dir = "ltr";
  const characters = short && text.length > 100 ? [...text] : null;
  if (characters && characters.length > 101) {
    append(run, characters.slice(0, 40).join(""));
    run.append(span("gap", "…"));
    append(run, characters.slice(-60).join(""));
    run.title = plain(text.slice(0, SHOWN));
  } else {
    append(run, text.slice(0, SHOWN));
    if (text.length > SHOWN) run.append(span("gap", "…"));
  }
  if (mixesScripts(text.slice(0, SHOWN))) {
    const badge = span("badge warn", _("mixed scripts"));
    badge.title = _("Contains look-alike letters from several scripts");
    run.append(badge);
  }
  return run;
}

function append(run, text) {
  for (const [boxed, piece] of parts(text)) run.append(boxed ? span("box", piece) : piece);
}

function span(name, text) {
  const made = document.createElement("span");
  made.className = name;
  made.textContent = text;
  return made;
}
