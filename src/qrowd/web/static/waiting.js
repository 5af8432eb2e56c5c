// A page that waits for a job in the background looks again by itself; what people chose is not disturbed, since nothing can be chosen meanwhile.

const waiting = document.getElementById("waiting");

async function look() {
  const reply = await fetch(location.href, { cache: "no-store" }).catch(() => null);
  const page = reply?.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
  const now = page?.getElementById("waiting");
  const here = document.getElementById("waiting");
  if (page && !now) {
    location.reload();
    return;
  }
  if (now) here.replaceChildren(...now.childNodes);
  setTimeout(look, 1000 * Number(waiting.dataset.again));
}

if (waiting) setTimeout(look, 1000 * Number(waiting.dataset.again));
