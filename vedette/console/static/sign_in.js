// The sign-in page. A session that another tab has is taken as it is.

import { signIn } from "./api.js";

const form = document.getElementById("sign-in");
const next = form.dataset.next;
form.querySelector("button.primary").disabled = false;
form.querySelector("[data-origin]").textContent = location.host;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await signIn(form)) location.replace(next);
});

addEventListener("pageshow", (event) => event.persisted && location.reload());
form.querySelector("input").focus();
