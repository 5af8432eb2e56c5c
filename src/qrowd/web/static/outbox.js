// Answers wait here until the server has committed them; they survive lost networks and closed tabs.
// Each answer has a key of its own, so that sending it twice stores it once.

import { call, comeBack, Refused } from "./api.js";
import { about } from "./texts.js";
import * as store from "./store.js";

const WAITS = [1000, 2000, 4000, 8000, 15000, 30000];
let prefix = "";
let count = 0;
let attempt = 0;
let timer = 0;
let running = null;
let wanted = false;
let others = null;
let tell = () => {};

function randomKey() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) =>
    one.toString(16).padStart(2, "0"),
  ).join("");
}

export function open(worker, told) {
  prefix = `qrowd:out:${about.name}:${worker}:`;
  tell = told;
  others = "BroadcastChannel" in window ? new BroadcastChannel(prefix) : null;
  others?.addEventListener("message", ({ data }) => tell(data));
  addEventListener("online", () => flush());
  addEventListener("visibilitychange", () => flush());
}

export function waiting() {
  return store.names(prefix).map((name) => ({ name, ...store.get(name) }));
}

// `follows`: the number of the answer that this one replaces, 0 for none. Where an earlier answer
// to the same document still waits, its number is filled in when the server has told it.
export function add(answer, follows) {
  const before = waiting()
    .filter((one) => one.body.place === answer.place && one.body.position === answer.position)
    .pop();
  const body = { key: randomKey(), ...answer, follows: before ? null : follows };
  count += 1;
  const name = `${prefix}${String(Date.now()).padStart(15, "0")}-${String(count).padStart(6, "0")}`;
  store.put(name, { body, after: before ? before.body.key : null });
  tell({ state: "saving" });
  flush();
  return body;
}

function pass(key, event) {
  for (const one of waiting()) {
    if (one.after === key)
      store.put(one.name, { body: { ...one.body, follows: event }, after: null });
  }
}

// The answer may have been given in another tab.
function tellAll(news) {
  tell(news);
  others?.postMessage(news);
}

async function sendAll() {
  for (let next = waiting()[0]; next; next = waiting()[0]) {
    tell({ state: "saving" });
    try {
      const saved = await call("POST", "/answers", next.body);
      pass(next.body.key, saved.event);
      store.remove(next.name);
      attempt = 0;
      tellAll({ state: "reply", body: next.body, saved });
    } catch (error) {
      const final = error instanceof Refused && [409, 413, 422].includes(error.status);
      if (!final) return later(error);
      pass(next.body.key, null);
      store.remove(next.name);
      tellAll({
        state: "refused",
        body: next.body,
        error: { code: error.code, message: error.message },
      });
    }
  }
  tell({ state: "saved" });
}

async function later(error) {
  const out = [401, 403, 404].includes(error.status);
  if (out) await comeBack().catch(() => {}); // the link may have been opened again in another tab
  tell({ state: out ? "signed-out" : "waiting", n: waiting().length });
  clearTimeout(timer);
  timer = setTimeout(flush, WAITS[Math.min(attempt, WAITS.length - 1)]);
  attempt += 1;
}

// Send what waits; tabs take turns. Done when there is nothing left, or the server cannot be reached.
// Answers that come while a turn is ending (locks are given back late) start another turn.
export function flush() {
  if (!prefix) return Promise.resolve();
  clearTimeout(timer);
  wanted = true;
  running ??= takeTurns();
  return running;
}

async function takeTurns() {
  try {
    while (wanted) {
      wanted = false;
      await (navigator.locks ? navigator.locks.request(prefix, sendAll) : sendAll());
    }
  } finally {
    running = null;
  }
}
