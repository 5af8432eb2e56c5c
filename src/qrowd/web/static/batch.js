// Judging a batch: one step per document, then one for the order where sets are ranked.

import { serverTime } from "./api.js";
import { Board } from "./board.js";
import { takeSeconds } from "./clock.js";
import { announce, button, h, mainButton } from "./dom.js";
import * as keys from "./keys.js";
import * as outbox from "./outbox.js";
import { askQuestions, askReason, earlierOf, sidesOf, topicOf } from "./parts.js";
import { fetchDocument, Reader, toggleMarks } from "./reader.js";
import { about, label, problem, t } from "./texts.js";

const RANKED = ["ranked", "free-ranks"].includes(about.way);
const PAIRS = about.way === "preferences";
const RANKS = { "pair.left": [1, 2], "pair.same": [1, 1], "pair.right": [2, 1] };
const CLOSING = new Set(["closed", "too-late", "not-found"]); // refusals that end the batch

// The steps of a batch, in order.
function stepsOf(batch) {
  return batch.sets.flatMap((set, part) => {
    if (PAIRS) return [{ kind: "pair", set, part }];
    const steps = set.documents.map((shown, at) => ({ kind: "document", set, part, shown, at }));
    return RANKED ? [...steps, { kind: "board", set, part }] : steps;
  });
}

// What can be said at a step; names are those of keys.
function choicesOf(step) {
  if (step.kind === "pair") {
    return Object.entries(RANKS).map(([name, ranks]) => ({
      name,
      text: t(name),
      answer: { kind: "ranking", ranks },
    }));
  }
  return about.grades.map((grade, index) => ({
    name: `grade${index}`,
    text: label(grade),
    answer: { kind: "grade", grade },
  }));
}

// Of a pair, all but its order is said of the first document.
function positionOf(step, answer) {
  if (step.kind === "document") return step.shown.position;
  return step.kind === "pair" && answer.kind !== "ranking" ? 1 : 0;
}

function isSame(answer, other) {
  if (answer.kind !== other?.kind) return false;
  if (answer.kind === "grade") return answer.grade === other.grade;
  return String(answer.ranks) === String(other.ranks);
}

// An earlier answer, to be sent again. Reasons are not kept: a grade that needs one is cleared.
function restoring(earlier) {
  const { kind = "clear", grade, ranks } = earlier ?? {};
  if (kind === "ranking") return { kind, ranks };
  if (kind !== "grade") return { kind };
  return about.justification === "none" ? { kind, grade } : { kind: "clear" };
}

function wordFor({ kind, grade }) {
  if (kind === "cannot-tell") return t("cannot");
  if (kind === "broken") return t("broken");
  return kind === "ranking" ? t("ranked") : label(grade);
}

function actButton(name, text, onclick, attributes) {
  const key = keys.printedKey(name);
  return h(
    "button",
    {
      type: "button",
      onclick,
      "aria-label": text,
      "aria-keyshortcuts": key ? keys.keyOf(name) : null,
      ...attributes,
    },
    key ? h("kbd", { "aria-hidden": "true" }, key) : null,
    h("span", text),
  );
}

export class Batch {
  // `onClose` is called when the server takes no more answers.
  constructor(batch, { onFinish, onClose }) {
    this.batch = batch;
    this.onFinish = onFinish;
    this.onClose = onClose;
    this.steps = [...stepsOf(batch), { kind: "end" }];
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
    this.answers.set(name, {
      kind: body.kind,
      grade: body.grade ?? null,
      ranks: body.ranks ?? [],
      event: earlier?.event ?? 0,
      key: body.key,
      passage: body.passage ?? "",
    });
  }

  answerAt(setKey, position) {
    const answer = this.answers.get(`${setKey}/${position}`);
    return answer && answer.kind !== "clear" ? answer : null;
  }

  answerTo(step) {
    return this.answerAt(step.set.key, step.kind === "document" ? step.shown.position : 0);
  }

  isAnswered(step) {
    if (step.kind === "end") return false;
    if (this.skipped.has(step.set.topic.query)) return true;
    if (this.answerTo(step) !== null) return true;
    return step.kind === "pair" && [1, 2].some((at) => this.answerAt(step.set.key, at) !== null);
  }

  isOpen(step) {
    return step.kind !== "end" && !this.isAnswered(step);
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
    if (step.kind === "end") {
      this.drawEnd();
      return;
    }
    this.drawTopic(step);
    this.view = null;
    if (this.asksQuestions(step)) this.drawQuestions(step);
    else if (step.kind === "document") await this.drawDocument(step);
    else if (step.kind === "pair") this.drawPair(step);
    else this.drawBoard(step);
  }

  whereText(step) {
    if (step.kind === "end") return t("where.end");
    const part = step.part + 1;
    const parts = this.batch.sets.length;
    if (step.kind !== "document") return t(PAIRS ? "where.pair" : "where.part", { part, parts });
    return t("where", { part, parts, at: step.at + 1, n: step.set.documents.length });
  }

  drawTop(step) {
    this.where.textContent = this.whereText(step);
    this.progress.value = this.steps.filter((each) => this.isAnswered(each)).length;
    const open = this.steps.filter((each) => each.kind !== "board" && this.isOpen(each)).length;
    const minutes = (open * about.minutes_per_batch) / Math.max(1, about.documents_per_batch);
    this.timeLeft.textContent = open ? t("minutes.left", { n: Math.ceil(minutes) }) : "";
  }

  // Drawn anew only for another set: what was unfolded stays so.
  drawTopic(step) {
    if (this.drawnSet !== step.set) {
      this.drawnSet = step.set;
      this.topic.replaceChildren(topicOf(step.set.topic));
    }
    if (about.mode !== "owner") return;
    this.topic.querySelector(".earlier")?.remove();
    this.topic.append(earlierOf(this.batch.sets, step.set.topic, this.answers));
  }

  async drawDocument(step) {
    const { set, shown } = step;
    if (this.reader.root.parentNode !== this.stage) this.stage.replaceChildren(this.reader.root);
    this.drawBar();
    announce(t("announce", { at: step.at + 1, n: set.documents.length, title: shown.title }));
    await this.reader.open(set, shown, this.answerTo(step)?.passage);
    performance.mark("qrowd-shown");
    this.fetchNext();
  }

  // Before it is wanted.
  fetchNext() {
    const next = this.steps
      .slice(this.index + 1)
      .find(({ kind }) => kind === "document" || kind === "pair");
    if (!next) return;
    const positions = next.kind === "pair" ? [1, 2] : [next.shown.position];
    for (const position of positions) fetchDocument(next.set.key, position).catch(() => {});
  }

  drawPair(step) {
    this.view = sidesOf(step.set);
    this.stage.replaceChildren(this.view.root);
    this.drawBar();
  }

  drawBoard(step) {
    const { key, documents } = step.set;
    const answers = documents.map(({ position }) => this.answers.get(`${key}/${position}`));
    const ranks = this.answerTo(step)?.ranks ?? [];
    this.view = new Board(step.set, answers, ranks, (chosen) => {
      this.record({ kind: "ranking", ranks: chosen });
    });
    this.stage.replaceChildren(this.view.root);
    this.drawBar();
    this.view.confirm.focus();
  }

  drawQuestions(step) {
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
    this.drawnSet = null;
    this.topic.replaceChildren();
    const heading = h("h1", { tabindex: -1 }, t("end.title"));
    const finish = mainButton(t("finish"), () => this.finish(finish));
    const back = button(t("end.back"), () => this.go(this.index - 1));
    this.stage.replaceChildren(
      h("section.end", heading, h("p", t("end.words")), h("div.actions", finish, back)),
    );
    this.bar.replaceChildren();
    heading.focus();
  }

  drawBar() {
    const step = this.steps[this.index];
    if (!step.set || this.asksQuestions(step)) return;
    const answer = this.answerTo(step);
    const reviewed = step.shown?.reviewed;
    const focused = document.activeElement?.dataset?.act;
    this.bar.replaceChildren(
      reviewed ? h("p.earlier", t("earlier", { what: wordFor(reviewed) })) : "",
      h(
        "div.grades",
        { role: "group", "aria-label": t("grades") },
        step.kind === "board" ? this.view.confirm : this.answerButtons(step, answer),
      ),
      h("div.others", this.otherButtons(step, answer)),
    );
    if (focused) this.bar.querySelector(`[data-act="${focused}"]`)?.focus();
  }

  answerButtons(step, current) {
    return choicesOf(step).map(({ name, text, answer }) =>
      actButton(name, text, () => this.choose(answer), {
        class: "grade",
        "data-act": name,
        "aria-pressed": String(isSame(answer, current)),
      }),
    );
  }

  otherButtons(step, current) {
    const actions = this.actions(step);
    const make = (name, text, attributes) =>
      actButton(name, text, actions[name], { class: "quiet-act", ...attributes });
    const pressed = (kind) => ({ "aria-pressed": String(current?.kind === kind) });
    const isBoard = step.kind === "board";
    return [
      isBoard ? null : make("cannot", t("cannot"), pressed("cannot-tell")),
      isBoard ? null : make("broken", t("broken"), pressed("broken")),
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
    if (step.kind === "end" || this.asksQuestions(step)) return actions;
    actions.board = () => this.goToBoard();
    if (step.kind === "board") return actions;
    actions.highlights = () => this.toggleMarks();
    actions.find = () => this.readers()[0].focusFind();
    actions.cannot = () => this.record({ kind: "cannot-tell" });
    actions.broken = () => this.record({ kind: "broken" });
    for (const { name, answer } of choicesOf(step)) actions[name] = () => this.choose(answer);
    return actions;
  }

  readers() {
    return this.view?.readers ?? [this.reader];
  }

  toggleMarks() {
    const isOn = toggleMarks();
    for (const reader of this.readers()) reader.mark();
    announce(t(isOn ? "marks.on" : "marks.off"));
  }

  goToBoard() {
    const { part } = this.steps[this.index];
    const steps = this.steps.filter((step) => step.part === part);
    const board = steps.find(({ kind }) => kind === "board");
    const documents = steps.filter(({ kind }) => kind === "document");
    if (!board || !documents.every((step) => this.isAnswered(step))) return;
    this.go(this.steps.indexOf(board));
  }

  // --- answers ----------------------------------------------------------------------------------

  choose(answer) {
    if (answer.kind !== "grade" || about.justification === "none") {
      this.record(answer);
      return;
    }
    askReason(this.reader, label(answer.grade), (notes) => this.record({ ...answer, ...notes }));
  }

  record(answer) {
    const step = this.steps[this.index];
    if (step.kind === "end" || this.asksQuestions(step)) return;
    const place = step.set.key;
    const position = positionOf(step, answer);
    const earlier = this.answers.get(`${place}/${position}`);
    this.history.push({ index: this.index, place, position, earlier });
    this.send({ place, position, seconds: this.secondsOn(step), ...answer });
    this.seconds.delete(step);
    const isChanged = earlier?.grade !== answer.grade;
    if (RANKED && step.kind === "document" && isChanged) this.reopenBoard(place);
    this.go(this.firstOpen(this.index + 1));
    this.note(t("said", { what: wordFor(answer) }));
  }

  // A changed grade may no longer fit the order that was chosen: the board comes again.
  reopenBoard(place) {
    if (!this.answerAt(place, 0)) return;
    this.send({ place, position: 0, kind: "clear", seconds: 0 });
  }

  send(answer) {
    const earlier = this.answers.get(`${answer.place}/${answer.position}`);
    this.keep(outbox.add(answer, earlier?.event ?? 0));
  }

  undo() {
    const last = this.history.pop();
    if (!last) return;
    const { index, place, position, earlier } = last;
    this.send({ place, position, seconds: 0, ...restoring(earlier) });
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

  async finish(pressed) {
    pressed.disabled = true;
    await outbox.flush();
    if (outbox.waiting().length) {
      pressed.disabled = false;
      this.note(t("finish.waiting"));
      return;
    }
    this.onFinish();
  }
}
