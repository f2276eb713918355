// The sign-in page. A session that another tab has is taken as it is; a link that is good once is
// exchanged for one.

import { call, signIn } from "./api.js";

const form = document.getElementById("sign-in");
const next = form.dataset.next;
form.querySelector("button.primary").disabled = false;
form.querySelector("[data-origin]").textContent = location.host;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (await signIn(form)) location.replace(next);
});

async function begin() {
  const once = new URL(location.href).hash.replace(/^#once=/, "");
  if (once && location.hash.startsWith("#once=")) {
    history.replaceState(null, "", location.pathname + location.search);
    try {
      await call("POST", "/api/v1/session", { link: once });
      location.replace(next);
    } catch (error) {
      const problem = form.querySelector("[data-problem]");
      problem.textContent = error.message;
      problem.hidden = false;
    }
    return;
  }
  form.querySelector("input").focus();
}

addEventListener("pageshow", (event) => event.persisted && location.reload());
begin();
