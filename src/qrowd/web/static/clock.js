// Active seconds: only while the page is visible and has the focus.

let milliseconds = 0;
let activeSince = null;

function isActive() {
  return document.visibilityState === "visible" && document.hasFocus();
}

function tick() {
  const now = performance.now();
  if (activeSince !== null) milliseconds += now - activeSince;
  activeSince = isActive() ? now : null;
}

for (const name of ["focus", "blur", "pagehide", "pageshow"]) addEventListener(name, tick);
document.addEventListener("visibilitychange", tick);
setInterval(tick, 1000);

// Active seconds since this was last called.
export function takeSeconds() {
  tick();
  const seconds = Math.round(milliseconds) / 1000;
  milliseconds = 0;
  return seconds;
}
