// The worker's way: come in, read, judge, look at what was missed, hand in, see what became of it.

import { call, comeBack, enter, Refused } from "./api.js";
import { Batch } from "./batch.js";
import { mainButton } from "./dom.js";
import * as keys from "./keys.js";
import * as outbox from "./outbox.js";
import { showOwnPage } from "./own_page.js";
import * as screens from "./screens.js";
import * as store from "./store.js";
import { about, problem, t } from "./texts.js";

let current = null; // the batch that is being judged
let worker = 0;
let askAgain = false; // whether this worker may be asked for other work
let way = null; // of judging

// Where it is kept that this worker has read the instructions in this browser.
function readName() {
  return `qrowd:read:${about.name}:${worker}`;
}

function showFailure(error) {
  const words = error instanceof Refused ? problem(error) : t("error.unreachable");
  const again = mainButton(t("again"), () => location.reload());
  screens.trouble(t("problem.title"), words, again);
}

// What goes wrong in a step of the way is shown.
function step(act) {
  return async (...values) => {
    try {
      return await act(...values);
    } catch (error) {
      return showFailure(error);
    }
  };
}

async function arrive() {
  const { lang, ...parameters } = Object.fromEntries(new URLSearchParams(location.search));
  if (!Object.keys(parameters).length) return comeBack();
  try {
    const session = await enter(parameters);
    if (session.preview) return session;
    const search = lang ? `?lang=${encodeURIComponent(lang)}` : "";
    history.replaceState(null, "", location.pathname + search);
    return session;
  } catch (error) {
    if (!(error instanceof Refused) || error.status >= 500) throw error;
    // An old link, but perhaps still signed in.
    await comeBack().catch(() => {
      throw error;
    });
    return null;
  }
}

async function isPreview() {
  try {
    const session = await arrive();
    return Boolean(session?.preview);
  } catch (error) {
    if (error.code === "no-sign-in" && !location.search) return true;
    throw error;
  }
}

async function loadWay() {
  const { default: Way } = await import(`./ways/${about.script}.js`);
  way = new Way();
  keys.define(way.keys());
}

const start = step(async () => {
  if (await isPreview()) {
    screens.preview(null);
    return;
  }
  const me = await call("GET", "/me");
  worker = me.worker;
  askAgain = me.ask_again;
  outbox.open(worker, (news) => current?.receive(news));
  await outbox.flush();
  if (document.getElementById("main").dataset.screen === "own") {
    await showOwnPage();
    return;
  }
  await loadWay();
  const isNew = !store.get(readName()) && !me.batches.length;
  if (me.consent_needed || isNew) {
    const ahead = await call("GET", "/ahead");
    screens.preview(me.consent_needed ? askConsent : instruct, ahead);
    return;
  }
  await next();
  // Has batches, but not from this browser: the link may have been used by somebody else.
  if (store.lasting && !store.get(readName()) && current) {
    current.note(t("elsewhere"), 20);
    store.put(readName(), true);
  }
});

function askConsent() {
  screens.terms(instruct);
}

function instruct() {
  screens.instructions(way, askAgain, () => {
    store.put(readName(), true);
    next();
  });
}

const next = step(async () => {
  leaveBatch();
  const { batch, nothing } = await call("POST", "/next");
  if (!batch) {
    if (nothing.code === "consent") askConsent();
    else screens.nothing(nothing, next);
  } else if (batch.state === "finished") {
    await review(batch, await call("GET", `/batches/${batch.key}/review`));
  } else {
    judge(batch);
  }
});

function judge(batch) {
  current = new Batch(way, batch, {
    onFinish: (goOn) => finish(batch, goOn),
    onClose: showClosed,
  });
  current.receive({ state: "saved" });
  outbox.flush();
}

function leaveBatch() {
  current = null;
  keys.listen({});
}

function showClosed() {
  leaveBatch();
  screens.trouble(t("closed.title"), t("closed.words"), mainButton(t("continue"), next));
}

// Finishes, hands in where nothing is to be read, and goes on to the next batch: one request.
const finish = step(async (batch, goOn) => {
  let reply = null;
  try {
    reply = await call("POST", `/batches/${batch.key}/end`, { go_on: goOn });
  } catch (error) {
    if (error.code !== "incomplete") throw error;
    await next();
    return;
  }
  const { finished, ended, batch: following } = reply;
  leaveBatch();
  if (!ended) {
    await review(batch, finished);
  } else if (following) {
    judge(following);
    current.note(screens.outcomeNote(ended), 20);
  } else {
    screens.outcome(batch, ended, way.score(finished), next);
  }
});

// What was missed; where nothing was, the batch is handed in at once.
async function review(batch, result) {
  leaveBatch();
  const toRead = result.missed.length + result.failed.length + result.lessons.length;
  const isClean = result.can_submit && !toRead;
  if (isClean) await submit(batch, result);
  else screens.review(way, batch, result, () => submit(batch, result));
}

// A batch that was sent back has ended.
const submit = step(async (batch, result) => {
  const ending = result.can_submit
    ? await call("POST", `/batches/${batch.key}/submit`)
    : { state: result.state, earned: 0, failed: result.failed };
  screens.outcome(batch, ending, way.score(result), next);
});

setInterval(() => current?.watch(), 5000);
addEventListener("online", () => current?.retry());
start();
