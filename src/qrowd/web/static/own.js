// A worker's own page: batches, pay, messages, appeals, own data, being forgotten.

import { call } from "./api.js";
import { button, closeDialog, h, openDialog, say, show } from "./dom.js";
import { about, day, has, money, problem, t } from "./texts.js";

export async function own() {
  const me = await call("GET", "/me");
  show(
    h("p", { class: "mark" }, about.title),
    h("h1", {}, t("own.title")),
    h(
      "p",
      { class: "lead" },
      t("own.lead", { worker: `w${me.worker}`, pay: money(me.owed) }),
      me.unsettled > me.owed ? ` ${t("own.promised", { pay: money(me.unsettled - me.owed) })}` : "",
    ),
    h(
      "div",
      { class: "actions" },
      h(
        "a",
        { class: "button main", href: `/judge/${encodeURIComponent(about.name)}` },
        t("own.back"),
      ),
    ),
    batches(me),
    messages(me),
    appeals(me),
    data(),
  );
}

function batches(me) {
  const rows = me.batches.map((one) =>
    h(
      "tr",
      {},
      h("td", {}, day(one.leased_at)),
      h("td", {}, t(`kind.${one.kind}`)),
      h(
        "td",
        {},
        has(`state.${one.state}`) ? t(`state.${one.state}`) : one.state,
        " ",
        one.can_appeal
          ? button(
              t("appeal"),
              () =>
                ask(t("appeal.words"), (text) =>
                  call("POST", `/batches/${one.key}/appeal`, { text }),
                ),
              { class: "small" },
            )
          : null,
      ),
      h("td", { class: "n" }, money(one.earned)),
    ),
  );
  const head = h(
    "tr",
    {},
    ["own.when", "own.what", "own.state", "own.pay"].map((name) =>
      h("th", { scope: "col" }, t(name)),
    ),
  );
  return h(
    "section",
    {},
    h("h2", {}, t("own.batches")),
    rows.length
      ? h(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": t("own.batches") },
          h("table", {}, h("thead", {}, head), h("tbody", {}, rows)),
        )
      : h("p", {}, t("own.none")),
  );
}

function messages(me) {
  const list = me.messages.map((one) =>
    h(
      "li",
      { class: one.from_worker ? "mine" : "theirs" },
      h(
        "p",
        { class: "quiet" },
        t(one.from_worker ? "message.you" : "message.them"),
        ", ",
        day(one.at),
      ),
      h("p", { class: "words" }, one.text),
    ),
  );
  return h(
    "section",
    {},
    h("h2", {}, t("own.messages")),
    list.length ? h("ul", { class: "letters" }, list) : h("p", {}, t("message.none")),
    h(
      "div",
      { class: "actions" },
      button(t("message.write"), () =>
        ask(t("message.words"), (text) => call("POST", "/messages", { text })),
      ),
    ),
  );
}

function appeals(me) {
  if (!me.appeals.length) return null;
  const state = (one) =>
    one.answered_at === null ? t("appeal.open") : t(one.won ? "appeal.won" : "appeal.lost");
  return h(
    "section",
    {},
    h("h2", {}, t("own.appeals")),
    h(
      "ul",
      { class: "letters" },
      me.appeals.map((one) =>
        h(
          "li",
          {},
          h("p", { class: "quiet" }, day(one.at), ": ", state(one)),
          h("p", { class: "words" }, one.text),
          one.reply ? h("p", { class: "words" }, one.reply) : null,
        ),
      ),
    ),
  );
}

function data() {
  return h(
    "section",
    {},
    h("h2", {}, t("own.data")),
    h("p", {}, t("data.words")),
    h(
      "div",
      { class: "actions" },
      button(t("data.download"), download),
      button(t("forget"), forget),
    ),
  );
}

async function download() {
  const found = await call("GET", "/data");
  const address = URL.createObjectURL(
    new Blob([JSON.stringify(found, null, 2)], { type: "application/json" }),
  );
  h("a", { href: address, download: "my-data.json" }).click();
  URL.revokeObjectURL(address);
}

function forget() {
  const state = h("p", { role: "status" });
  const yes = button(
    t("forget.yes"),
    async () => {
      try {
        const asked = await call("POST", "/forget");
        yes.hidden = true;
        state.textContent = t(asked.now ? "forget.now" : "forget.later");
      } catch (error) {
        state.textContent = problem(error);
      }
    },
    { class: "main" },
  );
  dialog(t("forget"), h("p", {}, t("forget.words")), state, yes);
}

// Words to somebody.
function ask(title, send) {
  const text = h("textarea", { rows: 5, id: "words", "aria-label": title });
  const state = h("p", { role: "status" });
  const go = button(
    t("send"),
    async () => {
      if (!text.value.trim()) return text.focus();
      try {
        await send(text.value.trim());
        closeDialog(go.closest("dialog"));
        await own();
        say(t("sent"));
      } catch (error) {
        state.textContent = problem(error);
      }
    },
    { class: "main" },
  );
  dialog(title, text, state, go);
}

function dialog(title, ...content) {
  const act = content.pop();
  const made = h(
    "dialog",
    { "aria-labelledby": "dialog-title" },
    h("h2", { id: "dialog-title" }, title),
    content,
    h(
      "div",
      { class: "actions" },
      act,
      button(t("close"), () => closeDialog(made)),
    ),
  );
  openDialog(made);
}
