// The sign-in page. A link, after the # of the address, replaces user name and password. It is used
// when the reader presses the button, never by opening the page.

import { signIn } from "./api.js";

const form = document.getElementById("sign-in");
const next = form.dataset.next;
form.querySelector("[data-origin]").textContent = location.host;

function ask(link) {
  form.dataset.link = link;
  form.querySelector("[data-password]").disabled = form.querySelector("[data-password]").hidden = Boolean(link);
  form.querySelector("[data-by-link]").hidden = !link;
  form.querySelector(link ? "button.primary" : "input").focus();
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await signIn(form)) location.replace(next);
  else if (form.dataset.link && form.querySelector("[data-second-factor]").hidden) ask("");
});

addEventListener("pageshow", (event) => event.persisted && location.reload());
form.querySelector("button.primary").disabled = false;
ask(location.hash.startsWith("#link=") ? location.hash.slice(6) : "");
history.replaceState(null, "", location.pathname + location.search);
