// Results that are being worked out: looks now and then, and says when they are there.

const PAUSE = 2000; // milliseconds

async function isFinished(address) {
  const reply = await fetch(address, { headers: { Accept: "application/json" } });
  if (!reply.ok) return true;
  const job = await reply.json();
  return job.state === "done" || job.state === "failed";
}

async function watch(part) {
  while (!(await isFinished(part.dataset.job).catch(() => false))) {
    await new Promise((resolve) => {
      setTimeout(resolve, PAUSE);
    });
  }
  part.firstChild.data = `${part.dataset.ready} `;
  part.querySelector("a").textContent = part.dataset.show;
}

document.querySelectorAll("[data-job]").forEach(watch);
