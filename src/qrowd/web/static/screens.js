// The screens around a batch: preview, terms, instructions, review, outcome.

import { call } from "./api.js";
import { announce, button, h, mainButton, prose, show } from "./dom.js";
import { MOST_WORDS, topicText } from "./parts.js";
import { documentOf, Reader } from "./reader.js";
import * as store from "./store.js";
import { about, has, label, money, problem, t } from "./texts.js";

function campaignMark() {
  return h("p.mark", about.title);
}

function ownPageLink(kind = "a.button") {
  return h(kind, { href: `/judge/${encodeURIComponent(about.name)}/me` }, t("own.title"));
}

export function fact(name, value) {
  return h("div", h("dt", t(name)), h("dd", value));
}

export function batchesLeft({ batches }) {
  return h("div", h("dt", t("facts.left", { n: batches })), h("dd", String(batches)));
}

// `ahead`: what only those know who have come in.
function facts(ahead = null) {
  const { pay, hourly, minutes_per_batch: minutes } = about;
  const own = `facts.documents.${about.way}`;
  return h(
    "dl.facts",
    fact(has(own) ? own : "facts.documents", String(about.documents_per_batch)),
    fact("facts.minutes", String(Math.max(1, Math.round(minutes)))),
    pay ? fact("facts.pay", money(pay)) : null,
    hourly ? fact("facts.hourly", money(hourly)) : null,
    ahead ? batchesLeft(ahead) : null,
  );
}

export function failedChecks(names) {
  return names.map((name) => t(`check.${name}`)).join(" ");
}

export function trouble(title, words, action = null) {
  show(campaignMark(), h("h1", title), h("p.lead", words), action);
}

export function whomToAsk({ contact }) {
  return h("p", contact ? t("ask.contact", { contact }) : t("ask"));
}

// Without `next`, there is no way on: somebody looks, and has not come in.
export function preview(next, ahead = null) {
  show(
    h("p.mark", "qrowd"),
    h("h1", about.title),
    h("p.lead", t(`preview.${about.way}`)),
    facts(ahead),
    about.qualification ? h("p", t("preview.qualification")) : null,
    about.checks.length
      ? h(
          "section",
          h("h2", t("checked")),
          h("ul", about.checks.map(checkedWords)),
          screenOutWords(),
        )
      : null,
    h("p", t("preview.saved")),
    ahead ? whomToAsk(ahead) : null,
    store.lasting ? null : h("p.note", t("preview.forgetful")),
    next ? h("div.actions", mainButton(t("continue"), next)) : h("p.note", t("preview.only")),
  );
}

export function terms(next) {
  const wrong = h("p.note", { role: "alert", hidden: true });
  const agree = mainButton(t("terms.agree"), async () => {
    try {
      await call("POST", "/consent", { version: about.consent.version });
      next();
    } catch (error) {
      wrong.hidden = false;
      wrong.textContent = problem(error);
    }
  });
  const refuse = button(t("terms.no"), () => trouble(t("terms.no.title"), t("terms.no.words")));
  show(
    campaignMark(),
    h("h1", t("terms.title")),
    h("div.sheet", prose(about.consent.text)),
    facts(),
    wrong,
    h("div.actions", agree, refuse),
  );
}

function scaleList(scale) {
  const lines = scale.map(([mark, words]) => h("li", h("kbd", mark), " ", words));
  return lines.length ? h("ul.scale", lines) : null;
}

function checkedWords(name) {
  const n = about.seconds_per_document;
  const isEach = name === "seconds" && about.seconds_for === "document";
  return h("li", t(isEach ? "checked.seconds.each" : `checked.${name}`, { n }));
}

function screenOutWords() {
  const { screen_out_pay: pay } = about;
  if (pay === null) return null;
  const words = pay ? "instructions.screen-out" : "instructions.screen-out.unpaid";
  return h("p", t(about.pay ? words : "instructions.screen-out.free", { pay: money(pay) }));
}

// Kept as soon as it is ticked; what could not be kept is not shown as ticked.
export function askAgainBox(agreed) {
  const state = h("span.quiet", { role: "status" });
  const box = h("input", { type: "checkbox" });
  box.checked = agreed;
  box.addEventListener("change", async () => {
    try {
      await call("POST", "/ask-again", { agreed: box.checked });
      state.textContent = ` ${t("saved.saved")}`;
    } catch (error) {
      box.checked = !box.checked;
      state.textContent = ` ${problem(error)}`;
    }
  });
  return h("label.ask-again", box, h("span", t("ask-again"), state));
}

export function instructions(way, askAgain, next) {
  const { examples, seconds_per_document: seconds } = about;
  const isEach = about.seconds_for === "document";
  show(
    campaignMark(),
    h("h1", t("instructions")),
    prose(about.instructions || t(way.instructions)),
    scaleList(way.scale()),
    examples.length ? h("h2", t("examples")) : null,
    examples.map((example, index) =>
      h("section.sheet", h("h3", t("example", { n: index + 1 })), prose(example)),
    ),
    seconds
      ? h("p", t(isEach ? "instructions.seconds.each" : "instructions.seconds", { n: seconds }))
      : null,
    h("p", t("instructions.keys")),
    askAgainBox(askAgain),
    h("div.actions", mainButton(t("start"), next)),
  );
}

// --- after a batch ------------------------------------------------------------------------------

function verdict(title, words) {
  return h("div", h("h3", title), h("p.said", words));
}

function ownWords(way, { said: grade, value, bucket }) {
  return grade === null ? t("cannot") : way.opinion({ grade, value, bucket });
}

// The topic and the document of a check question; one reader for all of them, where it is open.
function lookInto(reader, set, shown, passage) {
  const place = h("div");
  const fold = h("details.look", h("summary", t("review.look")), topicText(set.topic), place);
  fold.addEventListener("toggle", () => {
    if (!fold.open) return;
    for (const other of document.querySelectorAll("details.look[open]")) {
      if (other !== fold) other.open = false;
    }
    place.replaceChildren(reader.root);
    reader.open(documentOf(set, shown), passage);
  });
  return fold;
}

// A check question that was missed: the worker may agree with the expert, or say why not.
function missedCard(way, reader, batch, missed) {
  const { place, position } = missed;
  const set = batch.sets.find(({ key }) => key === place);
  const shown = set?.documents.find((each) => each.position === position);
  const id = `why-${place}-${position}`;
  const reason = h("textarea", { rows: 3, id, maxlength: MOST_WORDS });
  const state = h("p.quiet", { role: "status" });
  const send = mainButton(t("review.send"), async () => {
    const text = reason.value.trim();
    if (!text) {
      reason.focus();
      return;
    }
    try {
      await call("POST", `/sets/${place}/documents/${position}/disagree`, { text });
      form.hidden = true;
      choice.hidden = true;
      state.textContent = t("review.sent");
    } catch (error) {
      state.textContent = problem(error);
    }
  });
  const form = h(
    "div",
    { hidden: true },
    h("label", { for: reason.id }, t("review.why")),
    reason,
    h("div.actions", send),
  );
  const agree = button(t("review.see"), () => {
    choice.hidden = true;
    form.hidden = true;
    state.textContent = t("review.seen");
  });
  const disagree = button(t("review.disagree"), () => {
    form.hidden = false;
    reason.focus();
  });
  const choice = h("div.actions.equal", agree, disagree);
  return h(
    "article.sheet.missed",
    h("p.mark", set?.topic.query ?? ""),
    h("h2", way.heading(set, shown)),
    h(
      "div.two",
      verdict(t("review.you"), ownWords(way, missed)),
      verdict(t("review.expert"), way.expertWords(missed, set)),
    ),
    missed.reason ? h("p", missed.reason) : null,
    missed.passage ? h("blockquote", h("mark", missed.passage)) : null,
    shown ? lookInto(reader, set, shown, missed.passage) : null,
    choice,
    form,
    state,
  );
}

// What experts decided otherwise on documents of training, and why.
function lessonCard({ topic, title, said: grade, expert, reason }) {
  return h(
    "article.sheet.missed",
    h("p.mark", topic),
    h("h3", title || t("untitled")),
    h(
      "div.two",
      verdict(t("review.you"), label(grade)),
      verdict(t("review.expert"), label(expert)),
    ),
    reason ? h("p", reason) : null,
  );
}

function lessons(result) {
  const n = result.lessons.length;
  if (!n) return null;
  return h(
    "section",
    h("h2", t("review.lessons")),
    h("p", t("review.lessons.words", { n })),
    result.lessons.map(lessonCard),
  );
}

function reviewLead(result, isTest) {
  if (!result.can_submit) return t("review.returned");
  const n = result.missed.length;
  if (!n) return t("review.none");
  return t(isTest ? "review.missed.test" : "review.missed", { n });
}

export function review(way, batch, result, next) {
  const failed = failedChecks(result.failed);
  const isTest = batch.kind === "qualification";
  const reader = new Reader();
  show(
    campaignMark(),
    h("h1", t(isTest ? "review.title.test" : "review.title")),
    h("p.lead", reviewLead(result, isTest)),
    failed ? h("p.note", failed) : null,
    result.missed.map((missed) => missedCard(way, reader, batch, missed)),
    lessons(result),
    h("div.actions", mainButton(t(result.can_submit ? "submit" : "continue"), next)),
  );
  const first = document.querySelector("details.look");
  if (first) first.open = true;
}

function testOutcome(ending) {
  if (ending.qualified) return "qualified";
  return ending.tries_left ? "again" : "failed";
}

function payWords(earned) {
  if (earned) return t("outcome.earned", { pay: money(earned) });
  return about.pay ? t("outcome.unpaid") : "";
}

// How a batch ended, in short: for whoever judges the next one already.
export function outcomeNote(ending) {
  const [title, pay] = [t(`outcome.${ending.state}.title`), payWords(ending.earned)];
  return [`${title}.`, pay].join(" ");
}

// `score`: what the batch brought beside pay, if anything.
export function outcome(batch, ending, score, next) {
  const isTest = batch.kind === "qualification";
  const name = isTest ? testOutcome(ending) : ending.state;
  const title = t(`outcome.${name}.title`);
  const words = has(`outcome.${name}`)
    ? t(`outcome.${name}`, { n: ending.tries_left })
    : t("outcome.other");
  const failed = isTest ? "" : failedChecks(ending.failed);
  const pay = payWords(ending.earned);
  show(
    campaignMark(),
    h("h1", title),
    score,
    h("p.lead", words),
    failed ? h("p", failed) : null,
    ending.warned ? h("p.note", t("outcome.warned")) : null,
    pay ? h("p", pay) : null,
    ending.state === "screened-out"
      ? h("div.actions", ownPageLink("a.button.main"), button(t("leave"), leave))
      : h(
          "div.actions",
          mainButton(t("outcome.next"), next),
          button(t("leave"), leave),
          ownPageLink(),
        ),
  );
  announce(title);
}

// `reason`: why there is no batch now.
export function nothing(reason, again) {
  const name = `nothing.${reason.code}`;
  show(
    campaignMark(),
    h("h1", t("nothing.title")),
    h("p.lead", has(name) ? t(name) : reason.message),
    h(
      "div.actions",
      mainButton(t("leave"), leave),
      button(t("nothing.again"), again),
      ownPageLink(),
    ),
  );
}

// The way back: a code, an address, or a form that goes to the platform.
async function leave() {
  try {
    const way = await call("POST", "/leave");
    const fields = Object.entries(way.form);
    if (!way.address) {
      trouble(t("leave.title"), t("leave.words", { code: way.code }), ownPageLink());
    } else if (fields.length) {
      const inputs = fields.map(([name, value]) => h("input", { type: "hidden", name, value }));
      const form = h("form", { method: "post", action: way.address }, inputs);
      document.body.append(form);
      form.submit();
    } else {
      location.assign(way.address);
    }
  } catch (error) {
    trouble(t("problem.title"), problem(error));
  }
}
