// The screens around a batch: preview, terms, instructions, review, outcome.

import { call } from "./api.js";
import { button, h, prose, say, show } from "./dom.js";
import * as store from "./store.js";
import { about, has, label, money, problem, t } from "./texts.js";

const ownAddress = `/judge/${encodeURIComponent(about.name)}/me`;

function mark() {
  return h("p", { class: "mark" }, about.title);
}

function facts() {
  const minutes = Math.max(1, Math.round(about.minutes_per_batch));
  const line = (name, value) => h("div", {}, h("dt", {}, t(name)), h("dd", {}, value));
  const hourly =
    about.pay && about.minutes_per_batch ? (about.pay * 60) / about.minutes_per_batch : 0;
  return h(
    "dl",
    { class: "facts" },
    line("facts.documents", String(about.documents_per_batch)),
    line("facts.minutes", String(minutes)),
    about.pay ? line("facts.pay", money(about.pay)) : null,
    hourly ? line("facts.hourly", money(Math.round(hourly))) : null,
  );
}

export function trouble(title, words, act = null) {
  show(mark(), h("h1", {}, title), h("p", { class: "lead" }, words), act);
}

export function preview(next) {
  show(
    h("p", { class: "mark" }, "qrowd"),
    h("h1", {}, about.title),
    h("p", { class: "lead" }, t(`preview.${about.way}`)),
    facts(),
    about.qualification ? h("p", {}, t("preview.qualification")) : null,
    h("p", {}, t("preview.saved")),
    store.lasting ? null : h("p", { class: "note" }, t("preview.forgetful")),
    next
      ? h("div", { class: "actions" }, button(t("continue"), next, { class: "main" }))
      : h("p", { class: "note" }, t("preview.only")),
  );
}

export function terms(next) {
  const wrong = h("p", { class: "note", role: "alert", hidden: true });
  const agree = button(
    t("terms.agree"),
    async () => {
      try {
        await call("POST", "/consent", { version: about.consent.version });
        next();
      } catch (error) {
        wrong.hidden = false;
        wrong.textContent = problem(error);
      }
    },
    { class: "main" },
  );
  show(
    mark(),
    h("h1", {}, t("terms.title")),
    h("div", { class: "sheet" }, prose(about.consent.text)),
    facts(),
    wrong,
    h(
      "div",
      { class: "actions" },
      agree,
      button(t("terms.no"), () => trouble(t("terms.no.title"), t("terms.no.words"))),
    ),
  );
}

export function instructions(next) {
  const grades =
    about.way === "preferences"
      ? null
      : h(
          "ul",
          { class: "scale" },
          about.grades.map((grade) => h("li", {}, h("kbd", {}, String(grade)), " ", label(grade))),
        );
  const examples = about.examples.map((one, at) =>
    h("section", { class: "sheet" }, h("h3", {}, t("example", { n: at + 1 })), prose(one)),
  );
  show(
    mark(),
    h("h1", {}, t("instructions")),
    prose(about.instructions || t("instructions.none")),
    grades,
    examples.length ? h("h2", {}, t("examples")) : null,
    examples,
    about.seconds_per_document
      ? h("p", {}, t("instructions.seconds", { n: about.seconds_per_document }))
      : null,
    h("p", {}, t("instructions.keys")),
    h("div", { class: "actions" }, button(t("start"), next, { class: "main" })),
  );
}

// --- after a batch ------------------------------------------------------------------------------

function missedOf(batch, one) {
  const set = batch.sets.find((each) => each.key === one.place);
  const shown = set?.documents.find((each) => each.position === one.position);
  return { query: set?.topic.query ?? "", title: shown?.title ?? "" };
}

function missedCard(batch, one) {
  const { query, title } = missedOf(batch, one);
  const text = h("textarea", { rows: 3, id: `why-${one.place}-${one.position}` });
  const state = h("p", { class: "quiet", role: "status" });
  const send = button(
    t("review.send"),
    async () => {
      if (!text.value.trim()) return text.focus();
      try {
        await call("POST", `/sets/${one.place}/documents/${one.position}/disagree`, {
          text: text.value.trim(),
        });
        form.hidden = true;
        choice.hidden = true;
        state.textContent = t("review.sent");
      } catch (error) {
        state.textContent = problem(error);
      }
    },
    { class: "main" },
  );
  const form = h(
    "div",
    { hidden: true },
    h("label", { for: text.id }, t("review.why")),
    text,
    h("div", { class: "actions" }, send),
  );
  const choice = h(
    "div",
    { class: "actions equal" },
    button(t("review.see"), () => {
      choice.hidden = true;
      form.hidden = true;
      state.textContent = t("review.seen");
    }),
    button(t("review.disagree"), () => {
      form.hidden = false;
      text.focus();
    }),
  );
  return h(
    "article",
    { class: "sheet missed" },
    h("p", { class: "mark" }, query),
    h("h2", {}, title || t("untitled")),
    h(
      "div",
      { class: "two" },
      h("div", {}, h("h3", {}, t("review.you")), h("p", { class: "said" }, label(one.said))),
      h("div", {}, h("h3", {}, t("review.expert")), h("p", { class: "said" }, label(one.expert))),
    ),
    one.reason ? h("p", {}, one.reason) : null,
    one.passage ? h("blockquote", {}, h("mark", {}, one.passage)) : null,
    choice,
    form,
    state,
  );
}

export function review(batch, found, next) {
  const failed = found.failed.map((name) => t(`check.${name}`)).join(" ");
  const test = batch.kind === "qualification";
  const lead = !found.can_submit
    ? t("review.returned")
    : found.missed.length
      ? t(test ? "review.missed.test" : "review.missed", { n: found.missed.length })
      : t("review.none");
  show(
    mark(),
    h("h1", {}, t(test ? "review.title.test" : "review.title")),
    h("p", { class: "lead" }, lead),
    failed ? h("p", { class: "note" }, failed) : null,
    found.missed.map((one) => missedCard(batch, one)),
    h(
      "div",
      { class: "actions" },
      button(t(found.can_submit ? "submit" : "continue"), next, { class: "main" }),
    ),
  );
}

export function outcome(batch, ended, next) {
  const test = batch.kind === "qualification";
  const name = test
    ? ended.qualified
      ? "qualified"
      : ended.tries_left
        ? "again"
        : "failed"
    : ended.state;
  const words = has(`outcome.${name}`)
    ? t(`outcome.${name}`, { n: ended.tries_left })
    : t("outcome.other");
  const failed = test ? "" : ended.failed.map((check) => t(`check.${check}`)).join(" ");
  const pay = ended.earned
    ? t("outcome.earned", { pay: money(ended.earned) })
    : about.pay
      ? t("outcome.unpaid")
      : "";
  show(
    mark(),
    h("h1", {}, t(`outcome.${name}.title`)),
    h("p", { class: "lead" }, words),
    failed ? h("p", {}, failed) : null,
    pay ? h("p", {}, pay) : null,
    h(
      "div",
      { class: "actions" },
      button(t("outcome.next"), next, { class: "main" }),
      button(t("leave"), leave),
      h("a", { class: "button", href: ownAddress }, t("own.title")),
    ),
  );
  say(t(`outcome.${name}.title`));
}

export function nothing(found, again) {
  const words = has(`nothing.${found.code}`) ? t(`nothing.${found.code}`) : found.message;
  show(
    mark(),
    h("h1", {}, t("nothing.title")),
    h("p", { class: "lead" }, words),
    h(
      "div",
      { class: "actions" },
      button(t("leave"), leave, { class: "main" }),
      button(t("nothing.again"), again),
      h("a", { class: "button", href: ownAddress }, t("own.title")),
    ),
  );
}

// The way back: a code, an address, or a form that goes to the platform.
export async function leave() {
  try {
    const way = await call("POST", "/leave");
    if (Object.keys(way.form).length && way.address) {
      const form = h(
        "form",
        { method: "post", action: way.address },
        Object.entries(way.form).map(([name, value]) =>
          h("input", { type: "hidden", name, value }),
        ),
      );
      document.body.append(form);
      form.submit();
    } else if (way.address) location.assign(way.address);
    else
      trouble(
        t("leave.title"),
        t("leave.words", { code: way.code }),
        h("a", { class: "button", href: ownAddress }, t("own.title")),
      );
  } catch (error) {
    trouble(t("problem.title"), problem(error));
  }
}
