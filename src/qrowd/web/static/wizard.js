// What the answers come to, shown beside the question while they are changed. Without scripts it is shown on the next page.

const side = document.getElementById("side");
const form = document.querySelector("form.answers");
let latest = 0;
let waiting = 0;

async function refresh() {
  const mine = ++latest;
  const sent = new FormData();
  for (const [name, value] of new FormData(form))
    if (typeof value === "string") sent.append(name, value);
  const reply = await fetch(side.dataset.preview, { method: "POST", body: sent }).catch(() => null);
  if (!reply?.ok || mine !== latest) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  if (mine === latest) side.replaceChildren(...page.body.childNodes);
}

if (side && form) {
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(refresh, 200);
  });
}
