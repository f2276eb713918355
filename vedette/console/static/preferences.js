// What a reader prefers: theme, density, time zone, single keys.

const NAME = "vedette.preferences";
const DEFAULTS = { theme: "system", density: "default", zone: "utc", keys: true };

let known = read();

function read() {
  try {
    return { ...DEFAULTS, ...JSON.parse(localStorage.getItem(NAME) ?? "{}") };
  } catch {
    return { ...DEFAULTS };
  }
}

export const preference = (name) => known[name];

export function prefer(name, value) {
  known = { ...known, [name]: value };
  localStorage.setItem(NAME, JSON.stringify(known));
  apply();
  document.dispatchEvent(new CustomEvent("preference", { detail: { name, value } }));
}

export function apply() {
  const root = document.documentElement;
  for (const name of ["theme", "density"]) root.dataset[name] = known[name];
}

apply();
