// Answers wait here until the server has committed them; they survive lost networks and closed
// tabs. Each answer has a key of its own, so that sending it twice stores it once.

import { call, comeBack, Refused } from "./api.js";
import * as store from "./store.js";
import { about } from "./texts.js";

const WAITS = [1000, 2000, 4000, 8000, 15_000, 30_000];
const FINAL = new Set([409, 413, 422]); // sending it again would not help
const SIGNED_OUT = new Set([401, 403, 404]);
let prefix = ""; // of names in the store
let count = 0;
let attempt = 0;
let timer = 0;
let running = null;
let isWanted = false;
let otherTabs = null;
let tell = () => {};

function randomKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function open(worker, listener) {
  prefix = `qrowd:out:${about.name}:${worker}:`;
  tell = listener;
  otherTabs = "BroadcastChannel" in window ? new BroadcastChannel(prefix) : null;
  otherTabs?.addEventListener("message", ({ data }) => tell(data));
  addEventListener("online", () => flush());
  addEventListener("visibilitychange", () => flush());
}

// In the order in which they were given.
export function waiting() {
  return store.names(prefix).map((name) => ({ name, ...store.get(name) }));
}

// `follows`: the number of the answer that this one replaces, 0 for none. Where an earlier answer
// to the same document still waits, its number is filled in when the server has told it.
export function add(answer, follows) {
  const { place, position } = answer;
  const earlier = waiting().filter(
    ({ body }) => body.place === place && body.position === position,
  );
  const last = earlier.at(-1);
  const body = { key: randomKey(), ...answer, follows: last ? null : follows };
  count += 1;
  // Names sort in the order in which answers were given.
  const time = String(Date.now()).padStart(15, "0");
  const name = `${prefix}${time}-${String(count).padStart(6, "0")}`;
  store.put(name, { body, after: last ? last.body.key : null });
  tell({ state: "saving" });
  flush();
  return body;
}

function passNumber(key, number) {
  for (const { name, body, after } of waiting()) {
    if (after === key) store.put(name, { body: { ...body, follows: number }, after: null });
  }
}

// The answer may have been given in another tab.
function tellAll(news) {
  tell(news);
  otherTabs?.postMessage(news);
}

async function sendAll() {
  for (let next = waiting()[0]; next; next = waiting()[0]) {
    const { name, body } = next;
    tell({ state: "saving" });
    try {
      const saved = await call("POST", "/answers", body);
      passNumber(body.key, saved.event);
      store.remove(name);
      attempt = 0;
      tellAll({ state: "reply", body, saved });
    } catch (error) {
      const isFinal = error instanceof Refused && FINAL.has(error.status);
      if (!isFinal) return sendLater(error.status);
      passNumber(body.key, null);
      store.remove(name);
      tellAll({ state: "refused", body, error: { code: error.code, message: error.message } });
    }
  }
  tell({ state: "saved" });
}

async function sendLater(status) {
  const isSignedOut = SIGNED_OUT.has(status);
  // The link may have been opened again in another tab.
  if (isSignedOut) await comeBack().catch(() => {});
  tell({ state: isSignedOut ? "signed-out" : "waiting", n: waiting().length });
  clearTimeout(timer);
  timer = setTimeout(flush, WAITS[Math.min(attempt, WAITS.length - 1)]);
  attempt += 1;
}

// Send what waits; tabs take turns. Done when there is nothing left, or the server cannot be
// reached. Answers that come while a turn is ending (locks are given back late) start another turn.
export function flush() {
  if (!prefix) return Promise.resolve();
  clearTimeout(timer);
  isWanted = true;
  running ??= takeTurns();
  return running;
}

async function takeTurns() {
  try {
    while (isWanted) {
      isWanted = false;
      await (navigator.locks ? navigator.locks.request(prefix, sendAll) : sendAll());
    }
  } finally {
    running = null;
  }
}
