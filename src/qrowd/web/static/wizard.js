// What the answers come to, shown beside the question while they are changed. Without scripts it
// is shown on the next page.

const PAUSE = 200; // milliseconds without a change
const side = document.getElementById("side");
const form = document.querySelector("form.answers");
let latest = 0;
let timer = 0;

function answers() {
  const fields = new FormData();
  for (const [name, value] of new FormData(form)) {
    if (typeof value === "string") fields.append(name, value); // files stay here
  }
  return fields;
}

async function refresh() {
  latest += 1;
  const turn = latest;
  const request = { method: "POST", body: answers() };
  const reply = await fetch(side.dataset.preview, request).catch(() => null);
  if (!reply?.ok || reply.redirected || turn !== latest) return; // redirected: signed out
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  if (turn === latest) side.replaceChildren(...page.body.childNodes);
}

// Fields that change nothing under what is chosen elsewhere are grey, and say why.
function showEffects() {
  for (const part of form.querySelectorAll("fieldset.effect")) {
    const { of, only, unless } = part.dataset;
    const chosen = new Set(of.split(" ").map((name) => form.elements[name]?.value));
    part.disabled = only ? !chosen.has(only) : chosen.has(unless);
    part.querySelector(":scope > .hint").hidden = !part.disabled;
  }
}

if (form) {
  form.addEventListener("change", showEffects);
  showEffects();
}

if (side && form) {
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, PAUSE);
  });
}
