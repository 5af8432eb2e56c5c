// Active seconds: only while the page is visible and has the focus.

let spent = 0;
let since = null;

function active() {
  return document.visibilityState === "visible" && document.hasFocus();
}

function tick() {
  const now = performance.now();
  if (since !== null) spent += now - since;
  since = active() ? now : null;
}

for (const name of ["focus", "blur", "pagehide", "pageshow"]) addEventListener(name, tick);
document.addEventListener("visibilitychange", tick);
setInterval(tick, 1000);

// Seconds since this was last asked.
export function take() {
  tick();
  const seconds = Math.round(spent) / 1000;
  spent = 0;
  return seconds;
}
