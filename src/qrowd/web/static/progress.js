// A page that waits for a job in the background looks again by itself; nothing can be chosen
// meanwhile, so that nothing is disturbed.

const waiting = document.getElementById("waiting");

async function pageNow() {
  const reply = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  return reply?.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
}

async function look() {
  const page = await pageNow();
  const news = page?.getElementById("waiting");
  if (page && !news) {
    location.reload();
    return;
  }
  if (news) waiting.replaceChildren(...news.childNodes);
  lookLater();
}

function lookLater() {
  setTimeout(look, 1000 * Number(waiting.dataset.again));
}

if (waiting) lookLater();
