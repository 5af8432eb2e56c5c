// The worker's way: come in, read, judge, look at what was missed, hand in, see what became of it.

import { call, comeBack, enter, Refused } from "./api.js";
import { Batch } from "./batch.js";
import * as keys from "./keys.js";
import * as outbox from "./outbox.js";
import { own } from "./own.js";
import * as screens from "./screens.js";
import * as store from "./store.js";
import { about, problem, t } from "./texts.js";
import { button } from "./dom.js";

const READ = `qrowd:read:${about.name}:`;
let current = null;
let worker = 0;

function failed(error) {
  const words = error instanceof Refused ? problem(error) : t("error.unreachable");
  screens.trouble(
    t("problem.title"),
    words,
    button(t("again"), () => location.reload(), { class: "main" }),
  );
}

function run(act) {
  return (...given) => Promise.resolve(act(...given)).catch(failed);
}

async function arrive() {
  const parameters = Object.fromEntries(new URLSearchParams(location.search));
  const { lang, ...rest } = parameters;
  if (!Object.keys(rest).length) return comeBack();
  try {
    const entered = await enter(rest);
    if (entered.preview) return entered;
    history.replaceState(
      null,
      "",
      location.pathname + (lang ? `?lang=${encodeURIComponent(lang)}` : ""),
    );
    return entered;
  } catch (error) {
    if (!(error instanceof Refused) || error.status >= 500) throw error;
    await comeBack().catch(() => {
      throw error;
    }); // an old link, but still signed in
    return null;
  }
}

const start = run(async () => {
  let entered;
  try {
    entered = await arrive();
  } catch (error) {
    if (error.code === "no-sign-in" && !location.search) return screens.preview(null);
    throw error;
  }
  if (entered?.preview) return screens.preview(null);
  const me = await call("GET", "/me");
  worker = me.worker;
  outbox.open(me.worker, (news) => current?.told(news));
  await outbox.flush();
  if (document.getElementById("main").dataset.screen === "own") return own();
  if (me.consent_needed || !(store.get(READ + worker) || me.batches.length))
    return screens.preview(() => consent(me));
  await next();
  if (store.lasting && !store.get(READ + worker) && current) {
    current.note(t("elsewhere"), 20);
    store.put(READ + worker, true);
  }
});

function consent(me) {
  if (me.consent_needed) screens.terms(read);
  else read();
}

function read() {
  screens.instructions(() => {
    store.put(READ + worker, true);
    next();
  });
}

const next = run(async () => {
  leaveBatch();
  const found = await call("POST", "/next");
  if (!found.batch) {
    const again = found.nothing.code === "consent" ? () => screens.terms(read) : next;
    return found.nothing.code === "consent" ? again() : screens.nothing(found.nothing, next);
  }
  if (found.batch.state === "finished") return finished(found.batch);
  current = new Batch(found.batch, (how) => (how.finish ? finish(found.batch) : closed()));
  current.told({ state: "saved" });
  outbox.flush();
});

function leaveBatch() {
  current = null;
  keys.listen({});
}

function closed() {
  leaveBatch();
  screens.trouble(
    t("closed.title"),
    t("closed.words"),
    button(t("continue"), next, { class: "main" }),
  );
}

const finish = run(async (batch) => {
  try {
    await call("POST", `/batches/${batch.key}/finish`);
  } catch (error) {
    if (error.code === "incomplete") return next();
    throw error;
  }
  return finished(batch);
});

async function finished(batch) {
  leaveBatch();
  const found = await call("GET", `/batches/${batch.key}/review`);
  if (found.can_submit && !found.missed.length && !found.failed.length) return submit(batch);
  return screens.review(batch, found, () => submit(batch, found));
}

const submit = run(async (batch, found) => {
  const ended =
    found && !found.can_submit
      ? { state: found.state, earned: 0, failed: found.failed }
      : await call("POST", `/batches/${batch.key}/submit`);
  screens.outcome(batch, ended, next);
});

setInterval(() => current?.watch(), 5000);
start();
