// A worker's own page: batches, pay, messages, appeals, own data, being forgotten.

import { call } from "./api.js";
import { announce, button, closeDialog, h, mainButton, openDialog, show } from "./dom.js";
import { MOST_WORDS } from "./parts.js";
import { askAgainBox, batchesLeft, fact, failedChecks, whomToAsk } from "./screens.js";
import { about, has, money, problem, t, time } from "./texts.js";

const PENDING = new Set(["active", "finished", "submitted"]);
const COLUMNS = ["own.when", "own.what", "own.state", "own.pay"];

export async function showOwnPage() {
  const [me, ahead] = await Promise.all([call("GET", "/me"), call("GET", "/ahead")]);
  const reserved = me.unsettled - me.owed;
  const back = `/judge/${encodeURIComponent(about.name)}`;
  show(
    h("p.mark", about.title),
    h("h1", t("own.title")),
    h("p.lead", t("own.lead", { worker: `w${me.worker}` })),
    h(
      "dl.facts",
      about.pay || me.unsettled ? fact("own.owed", money(me.owed)) : null,
      about.pay || me.unsettled ? fact("own.promised", money(reserved)) : null,
      me.settled ? fact("own.settled", money(me.settled)) : null,
      me.out ? null : batchesLeft(ahead),
    ),
    me.out ? null : h("div.actions", h("a.button.main", { href: back }, t("own.back"))),
    me.out ? screenedOut(me.out) : null,
    batches(me),
    messages(me, ahead),
    appeals(me),
    ownData(me),
  );
}

// Why there are no more batches, what the last one is paid, and the way to object.
function screenedOut(out) {
  return h(
    "section",
    h("h2", t("own.out")),
    h("p", out.failed.length ? failedChecks(out.failed) : t("own.out.organiser")),
    out.pay === null ? null : h("p", payOfLast(out.pay)),
    out.appealed ? h("p", t("own.out.appealed")) : null,
    out.can_appeal ? h("p", t("own.out.appeal")) : null,
    out.can_appeal ? h("div.actions", mainButton(t("appeal"), appealScreenOut)) : null,
  );
}

function payOfLast(pay) {
  return pay ? t("own.out.pay", { pay: money(pay) }) : t("own.out.unpaid");
}

function appealScreenOut() {
  askWords(t("appeal.words.screen-out"), (text) => call("POST", "/appeal", { text }));
}

// What is paid for a batch, else whether it is pending, or why nothing is.
function payOf({ state, pay, earned }) {
  if (earned || !pay) return money(earned);
  if (PENDING.has(state)) return t("pay.pending", { pay: money(pay) });
  return has(`pay.${state}`) ? t(`pay.${state}`) : money(0);
}

// Why it does not count is in a row of its own: a column of it would be too narrow on a phone.
function batchRows(batch) {
  const state = `state.${batch.state}`;
  const appeal = () =>
    askWords(t("appeal.words"), (text) => call("POST", `/batches/${batch.key}/appeal`, { text }));
  const { failed } = batch;
  const row = h(
    "tr",
    h("td", time(batch.leased_at)),
    h("td", t(`kind.${batch.kind}`)),
    h(
      "td",
      has(state) ? t(state) : batch.state,
      " ",
      batch.can_appeal ? button(t("appeal"), appeal, { class: "small" }) : null,
    ),
    h("td.n", payOf(batch)),
  );
  if (!failed.length) return [row];
  return [row, h("tr.why", h("td.quiet", { colspan: COLUMNS.length }, failedChecks(failed)))];
}

function batches(me) {
  const title = t("own.batches");
  if (!me.batches.length) return h("section", h("h2", title), h("p", t("own.none")));
  const heads = COLUMNS.map((name) =>
    h(name === "own.pay" ? "th.n" : "th", { scope: "col" }, t(name)),
  );
  const table = h("table", h("thead", h("tr", heads)), h("tbody", me.batches.flatMap(batchRows)));
  return h(
    "section",
    h("h2", title),
    h("div.scroll", { tabindex: 0, role: "region", "aria-label": title }, table),
  );
}

function letter(message) {
  const writer = t(message.from_worker ? "message.you" : "message.them");
  return h(
    "li",
    { class: message.from_worker ? "mine" : "theirs" },
    h("p.quiet", writer, ", ", time(message.at)),
    h("p.words", message.text),
  );
}

function messages(me, ahead) {
  const letters = me.messages.map(letter);
  const write = button(t("message.write"), () =>
    askWords(t("message.words"), (text) => call("POST", "/messages", { text })),
  );
  return h(
    "section",
    h("h2", t("own.messages")),
    letters.length ? h("ul.letters", letters) : h("p", t("message.none")),
    ahead.contact ? whomToAsk(ahead) : null,
    h("div.actions", write),
  );
}

function appealState(appeal) {
  if (appeal.answered_at === null) return t("appeal.open");
  return t(appeal.won ? "appeal.won" : "appeal.lost");
}

function appeals(me) {
  if (!me.appeals.length) return null;
  const letters = me.appeals.map((appeal) =>
    h(
      "li",
      h("p.quiet", time(appeal.at), ": ", appealState(appeal)),
      h("p.words", appeal.text),
      appeal.reply ? h("p.words", appeal.reply) : null,
    ),
  );
  return h("section", h("h2", t("own.appeals")), h("ul.letters", letters));
}

function ownData(me) {
  return h(
    "section",
    h("h2", t("own.data")),
    askAgainBox(me.ask_again),
    h("p", t("data.words")),
    h("div.actions", button(t("data.download"), download), button(t("forget"), askForget)),
  );
}

async function download() {
  const data = await call("GET", "/data");
  const file = new Blob([JSON.stringify(data, null, 2)], { type: "application/json" });
  const address = URL.createObjectURL(file);
  h("a", { href: address, download: "my-data.json" }).click();
  URL.revokeObjectURL(address);
}

function askForget() {
  const state = h("p", { role: "status" });
  const forget = mainButton(t("forget.yes"), async () => {
    try {
      const reply = await call("POST", "/forget");
      forget.hidden = true;
      state.textContent = t(reply.now ? "forget.now" : "forget.later");
    } catch (error) {
      state.textContent = problem(error);
    }
  });
  openQuestion(t("forget"), [h("p", t("forget.words")), state], forget);
}

// Words to somebody.
function askWords(title, send) {
  const attributes = { rows: 5, id: "words", maxlength: MOST_WORDS, "aria-label": title };
  const field = h("textarea", attributes);
  const state = h("p", { role: "status" });
  const sendButton = mainButton(t("send"), async () => {
    const text = field.value.trim();
    if (!text) {
      field.focus();
      return;
    }
    try {
      await send(text);
      closeDialog(dialog);
      await showOwnPage();
      announce(t("sent"));
    } catch (error) {
      state.textContent = problem(error);
    }
  });
  const dialog = openQuestion(title, [field, state], sendButton);
}

function openQuestion(title, content, action) {
  const close = button(t("close"), () => closeDialog(dialog));
  const dialog = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h("h2", { id: "dialog-title" }, title),
    content,
    h("div.actions", action, close),
  );
  openDialog(dialog);
  return dialog;
}
