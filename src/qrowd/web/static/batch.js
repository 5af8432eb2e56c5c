// Judging a batch, step by step. What the steps are and what is said there is the way's (way.js).

import { serverTime } from "./api.js";
import { takeSeconds } from "./clock.js";
import { announce, button, h, ignoreDoubleClicks, mainButton } from "./dom.js";
import * as keys from "./keys.js";
import * as outbox from "./outbox.js";
import { askQuestions, askReason, earlierOf } from "./parts.js";
import { fetchDocument, Reader, toggleMarks } from "./reader.js";
import { about, problem, t } from "./texts.js";

const CLOSING = new Set(["closed", "too-late", "not-found"]); // refusals that end the batch
const AHEAD = 30; // documents that are fetched before they are wanted

export class Batch {
  // `onClose` is called when the server takes no more answers.
  constructor(way, batch, { onFinish, onClose }) {
    this.way = way;
    this.batch = batch;
    this.onFinish = onFinish;
    this.onClose = onClose;
    const steps = batch.sets.flatMap((set, part) =>
      way.stepsOf(set).map((step) => ({ ...step, set, part })),
    );
    this.steps = way.arrange(steps);
    this.steps.push({ isEnd: true });
    this.history = []; // of answers, for undo
    this.skipped = new Set(); // queries whose questions were not passed
    this.answers = new Map(); // by the set's key and a position, 0 for the whole set
    this.seconds = new Map(); // active, by step
    for (const set of batch.sets) {
      if (set.ranking) this.answers.set(`${set.key}/0`, set.ranking);
      for (const { position, answer } of set.documents) {
        if (answer) this.answers.set(`${set.key}/${position}`, answer);
      }
    }
    for (const { body } of outbox.waiting()) this.keep(body);
    this.build();
    this.go(this.firstOpen(0));
  }

  keep(body) {
    const name = `${body.place}/${body.position ?? 0}`;
    const earlier = this.answers.get(name);
    this.answers.set(name, { ...body, event: earlier?.event ?? 0 });
  }

  answerAt(setKey, position) {
    const answer = this.answers.get(`${setKey}/${position}`);
    return answer && answer.kind !== "clear" ? answer : null;
  }

  answerTo(step) {
    const answers = step.positions.map((position) => this.answerAt(step.set.key, position));
    return answers.find(Boolean) ?? null;
  }

  isAnswered(step) {
    if (step.isEnd) return false;
    return this.skipped.has(step.set.topic.query) || this.answerTo(step) !== null;
  }

  isOpen(step) {
    return !step.isEnd && !this.isAnswered(step);
  }

  // The next open step, else an earlier one, else the end.
  firstOpen(from) {
    const after = this.steps.findIndex((step, index) => index >= from && this.isOpen(step));
    return after >= 0 ? after : this.steps.findIndex((step) => !this.isAnswered(step));
  }

  asksQuestions(step) {
    return Boolean(step.set?.questions.length) && !this.skipped.has(step.set.topic.query);
  }

  // --- the page ---------------------------------------------------------------------------------

  build() {
    this.where = h("p.where");
    this.progress = h("progress", { max: this.steps.length - 1, "aria-label": t("progress") });
    this.timeLeft = h("span.quiet.left");
    this.saveState = h("span.saved", { role: "status" });
    this.topic = h("aside.topic", { "aria-label": t("topic") });
    this.stage = h("div.stage");
    this.notes = h("div.notes", { role: "status" });
    this.bar = h("section.bar", { "aria-label": t("bar") });
    ignoreDoubleClicks(this.bar, '.grade, [data-act="cannot"], [data-act="broken"]');
    this.reader = new Reader();
    const ownPage = h(
      "a",
      { href: `/judge/${encodeURIComponent(about.name)}/me`, target: "_blank", rel: "noopener" },
      t("own.short"),
    );
    const top = h(
      "header.top",
      this.where,
      this.progress,
      this.timeLeft,
      this.saveState,
      ownPage,
      button("?", () => this.openHelp(), { class: "small", "aria-label": t("key.help") }),
    );
    const main = document.getElementById("main");
    main.className = "judging";
    main.replaceChildren(top, this.topic, this.stage, this.notes, this.bar);
    this.stage.append(this.reader.root);
  }

  openHelp() {
    keys.openKeys(() => this.drawBar());
  }

  // Active seconds on a step, however often it was left and opened again.
  secondsOn(step) {
    const seconds = (this.seconds.get(step) ?? 0) + takeSeconds();
    this.seconds.set(step, seconds);
    return seconds;
  }

  async go(index) {
    if (this.index === undefined) takeSeconds();
    else this.secondsOn(this.steps[this.index]);
    this.index = Math.max(0, Math.min(index, this.steps.length - 1));
    const step = this.steps[this.index];
    this.drawTop(step);
    keys.listen(this.actions(step));
    if (step.isEnd) {
      this.drawEnd();
      return;
    }
    this.drawTopic(step);
    if (this.asksQuestions(step)) this.drawQuestions(step);
    else await this.drawStep(step);
  }

  whereText(step) {
    if (step.isEnd) return t("where.end");
    return this.way.where(step, { part: step.part + 1, parts: this.batch.sets.length });
  }

  drawTop(step) {
    this.where.textContent = this.whereText(step);
    this.progress.value = this.steps.filter((each) => this.isAnswered(each)).length;
    const open = this.steps.filter((each) => each.documents?.length && this.isOpen(each)).length;
    const minutes = (open * about.minutes_per_batch) / Math.max(1, about.documents_per_batch);
    this.timeLeft.textContent = open ? t("minutes.left", { n: Math.ceil(minutes) }) : "";
  }

  // Drawn anew only for another subject: what was unfolded stays so.
  drawTopic(step) {
    const subject = this.way.subjectOf(step);
    if (this.drawnSubject !== subject) {
      this.drawnSubject = subject;
      this.topic.replaceChildren(this.way.aside(step));
    }
    if (about.mode !== "owner") return;
    this.topic.querySelector(".earlier")?.remove();
    const wordsFor = (set, position) => {
      const answer = this.answerAt(set.key, position);
      return answer && this.isOpinion(answer) ? this.way.words(answer) : "";
    };
    this.topic.append(earlierOf(this.batch.sets, step.set.topic, wordsFor));
  }

  async drawStep(step) {
    const view = this.way.draw(step, this);
    this.view = view;
    if (view.root.parentNode !== this.stage) this.stage.replaceChildren(view.root);
    this.drawBar();
    view.focus?.();
    await this.waitFor(view);
    performance.mark("qrowd-shown");
    this.fetchAhead();
  }

  // Nothing is said of a document before it is in its place.
  async waitFor(view) {
    try {
      await view.ready;
    } catch {
      return; // the way has said so
    }
    if (view !== this.view) return;
    view.isReady = true;
    this.allowAnswers();
    for (const reader of view.readers ?? []) {
      if (reader.state === "unseen") this.offerBroken(reader);
      reader.onAgain = (open) => {
        this.waitFor(Object.assign(view, { isReady: false, ready: open() }));
        this.allowAnswers();
      };
    }
  }

  offerBroken(reader) {
    const broken = button(t("broken"), () => this.record({ kind: "broken" }));
    reader.page.append(h("div.actions", broken));
  }

  // Of what cannot be shown, nothing but that can be said.
  allows(kind) {
    const { isReady, readers } = this.view ?? {};
    if (!isReady) return false;
    const states = (readers ?? []).map(({ state }) => state);
    if (states.every((state) => state === "shown")) return true;
    return kind === "broken" && states.includes("unseen");
  }

  // Buttons keep the focus while they wait.
  allowAnswers() {
    const mark = (selector, isAllowed) => {
      for (const each of this.bar.querySelectorAll(selector)) {
        each.setAttribute("aria-disabled", String(!isAllowed));
      }
    };
    mark('.grades button, [data-act="cannot"]', this.allows("grade"));
    mark('[data-act="broken"]', this.allows("broken"));
  }

  // The documents that come next, one after the other, so that the network may go.
  async fetchAhead() {
    if (this.isFetching) return;
    this.isFetching = true;
    const done = new Set();
    const next = () =>
      this.steps
        .slice(this.index + 1, this.index + 1 + AHEAD)
        .flatMap(({ set, documents }) =>
          (documents ?? []).map(({ position }) => ({ set, position })),
        )
        .find(({ set, position }) => !done.has(`${set.key}/${position}`));
    try {
      for (let each = next(); each; each = next()) {
        done.add(`${each.set.key}/${each.position}`);
        await fetchDocument(each.set.key, each.position).catch((error) => {
          if (error.status !== 500) throw error; // this one alone cannot be shown
        });
      }
    } catch {
      // no network: the next step tries again
    } finally {
      this.isFetching = false;
    }
  }

  drawQuestions(step) {
    this.view = null;
    const { query } = step.set.topic;
    const form = askQuestions(step.set, (passed) => {
      for (const set of this.batch.sets) {
        if (set.topic.query === query) set.questions = [];
      }
      if (!passed) {
        this.skipped.add(query);
        this.note(t("questions.failed"));
      }
      this.go(passed ? this.index : this.firstOpen(this.index));
    });
    this.stage.replaceChildren(form);
    this.bar.replaceChildren();
  }

  drawEnd() {
    this.view = { end: true };
    this.drawnSubject = null;
    this.topic.replaceChildren();
    const heading = h("h1", { tabindex: -1 }, t("end.title"));
    const canGoOn = this.batch.kind !== "qualification" && !this.way.hasScore;
    const goOn = canGoOn ? mainButton(t("finish.go-on"), () => this.finish(goOn, true)) : "";
    const makeFinish = canGoOn ? button : mainButton;
    const finish = makeFinish(t("finish"), () => this.finish(finish, false));
    const back = button(t("end.back"), () => this.go(this.index - 1));
    this.stage.replaceChildren(
      h("section.end", heading, h("p", t("end.words")), h("div.actions", goOn, finish, back)),
    );
    this.bar.replaceChildren();
    heading.focus();
  }

  drawBar() {
    const step = this.steps[this.index];
    if (!step.set || this.asksQuestions(step)) return;
    const reviewed = step.documents[0]?.reviewed;
    const earlier = this.batch.kind === "revision" ? "earlier.own" : "earlier";
    const focused = document.activeElement?.dataset?.act;
    this.bar.replaceChildren(
      reviewed ? h("p.earlier", t(earlier, { what: this.way.words(reviewed) })) : "",
      h(
        "div.grades",
        { role: "group", "aria-label": t(this.way.question) },
        this.way.controls(step, this),
      ),
      h("div.others", this.otherButtons(step)),
    );
    this.allowAnswers();
    if (focused) this.bar.querySelector(`[data-act="${focused}"]`)?.focus();
  }

  otherButtons(step) {
    const current = this.answerTo(step);
    const actions = this.actions(step);
    const make = (name, text, attributes) =>
      keys.keyButton(name, text, actions[name], {
        class: "quiet-act",
        "data-act": name,
        ...attributes,
      });
    const pressed = (kind) => ({ "aria-pressed": String(current?.kind === kind) });
    const reads = step.documents.length > 0;
    return [
      reads ? make("cannot", t("cannot"), pressed("cannot-tell")) : null,
      reads ? make("broken", t("broken"), pressed("broken")) : null,
      make("undo", t("undo"), { disabled: !this.history.length }),
      h(
        "span.moves",
        make("back", t("key.back"), { class: "quiet-act icon", disabled: this.index === 0 }),
        make("forward", t("key.forward"), { class: "quiet-act icon" }),
      ),
    ];
  }

  // What can be done at a step, by the names of keys.
  actions(step) {
    const actions = {
      undo: () => this.undo(),
      back: () => this.go(this.index - 1),
      forward: () => this.go(this.index + 1),
      help: () => this.openHelp(),
    };
    if (step.isEnd || this.asksQuestions(step)) return actions;
    if (step.documents.length) {
      actions.highlights = () => this.toggleMarks();
      actions.find = () => this.readers()[0].focusFind();
      actions.cannot = () => this.record({ kind: "cannot-tell" });
      actions.broken = () => this.record({ kind: "broken" });
    }
    return { ...actions, ...this.way.actions(step, this) };
  }

  readers() {
    return this.view?.readers ?? [this.reader];
  }

  toggleMarks() {
    const isOn = toggleMarks();
    for (const reader of this.readers()) reader.mark();
    announce(t(isOn ? "marks.on" : "marks.off"));
  }

  // --- answers ----------------------------------------------------------------------------------

  // What was said, not that nothing can be.
  isOpinion(answer) {
    return answer.kind in this.way.kinds;
  }

  // An opinion on a document may need a reason.
  needsReason(answer, position) {
    return about.justification !== "none" && position > 0 && this.isOpinion(answer);
  }

  choose(answer) {
    if (this.isEarly(answer)) return;
    const position = this.way.positionOf(this.steps[this.index], answer);
    if (!this.needsReason(answer, position)) {
      this.record(answer);
      return;
    }
    const save = (notes) => this.record({ ...answer, ...notes });
    askReason(this.reader, this.way.words(answer), save);
  }

  // A document that is not in its place cannot be judged.
  isEarly({ kind }) {
    if (this.allows(kind)) return false;
    const states = (this.view?.readers ?? []).map(({ state }) => state);
    this.note(t(states.includes("unseen") ? "early.unseen" : "early"));
    return true;
  }

  // The network is back.
  retry() {
    for (const reader of this.view?.readers ?? []) {
      if (reader.state === "lost") reader.again();
    }
    this.fetchAhead();
  }

  record(answer) {
    const step = this.steps[this.index];
    if (step.isEnd || this.asksQuestions(step) || this.isEarly(answer)) return;
    const place = step.set.key;
    const position = this.way.positionOf(step, answer);
    const earlier = this.answers.get(`${place}/${position}`);
    this.history.push({ index: this.index, place, position, earlier });
    this.send({ place, position, seconds: this.secondsOn(step), ...answer });
    this.seconds.delete(step);
    this.way.follow(step, answer, earlier, this);
    this.go(this.firstOpen(this.index + 1));
    this.note(t("said", { what: this.way.words(answer) }));
  }

  clear(place, position) {
    this.send({ place, position, kind: "clear", seconds: 0 });
  }

  send(answer) {
    const earlier = this.answers.get(`${answer.place}/${answer.position}`);
    this.keep(outbox.add(answer, earlier?.event ?? 0));
  }

  undo() {
    const last = this.history.pop();
    if (!last) return;
    const { index, place, position, earlier } = last;
    // Reasons are not kept: an answer that needs one is cleared.
    if (!earlier || this.needsReason(earlier, position)) this.clear(place, position);
    else this.send({ place, position, seconds: 0, ...this.way.content(earlier) });
    this.go(index);
    this.note(t("undone"));
  }

  note(text, seconds = 6) {
    clearTimeout(this.noteTimer);
    this.notes.textContent = text;
    this.noteTimer = setTimeout(() => {
      this.notes.textContent = "";
    }, seconds * 1000);
  }

  // From the outbox: saved, waiting, refused.
  receive(news) {
    if (news.state === "reply") {
      this.receiveReply(news);
    } else if (news.state === "refused") {
      this.receiveRefusal(news);
    } else {
      const text = t(`saved.${news.state}`, { n: news.n ?? 0 });
      if (this.saveState.textContent !== text) this.saveState.textContent = text;
      this.saveState.dataset.state = news.state;
    }
  }

  // The answer, unless it was given in another tab.
  ownAnswer({ body }) {
    const answer = this.answers.get(`${body.place}/${body.position ?? 0}`);
    return answer?.key === body.key ? answer : null;
  }

  receiveReply(news) {
    const answer = this.ownAnswer(news);
    if (!answer) return;
    const { saved } = news;
    answer.event = saved.event;
    this.batch.warn_at = saved.warn_at;
    this.batch.expires_at = saved.expires_at;
    if (saved.stale) {
      this.note(t("saved.stale"));
    } else if (saved.surplus && !this.hasToldSurplus) {
      this.hasToldSurplus = true;
      this.note(t("saved.surplus"));
    }
  }

  receiveRefusal(news) {
    if (!this.ownAnswer(news)) return;
    this.note(problem(news.error));
    if (CLOSING.has(news.error.code)) this.onClose();
  }

  // The batch is reserved for a while; say so before that ends, by the server's clock.
  watch() {
    const now = serverTime();
    const { warn_at: warnAt, expires_at: expiresAt } = this.batch;
    if (now < warnAt || this.warnedAt === warnAt || this.view?.end) return;
    this.warnedAt = warnAt;
    const minutes = Math.round((expiresAt - now) / 60_000);
    this.note(t("lease", { n: Math.max(1, minutes) }));
  }

  async finish(pressed, goOn) {
    pressed.disabled = true;
    await outbox.flush();
    if (outbox.waiting().length) {
      pressed.disabled = false;
      this.note(t("finish.waiting"));
      return;
    }
    this.onFinish(goOn);
  }
}
