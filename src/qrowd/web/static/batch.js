// Judging a batch: one step per document, then one for the order where sets are ranked.

import { serverTime } from "./api.js";
import { board } from "./board.js";
import * as clock from "./clock.js";
import { button, h, say } from "./dom.js";
import * as keys from "./keys.js";
import * as outbox from "./outbox.js";
import { fetched, focusFind, Reader, toggleMarks } from "./reader.js";
import { askQuestions, askReason, earlierOf, sidesOf, topicOf } from "./parts.js";
import { about, label, problem, t } from "./texts.js";

const RANKED = ["ranked", "free-ranks"].includes(about.way);
const PAIRS = about.way === "preferences";
const RANKS = { "pair.left": [1, 2], "pair.same": [1, 1], "pair.right": [2, 1] };

// The steps of a batch, in order.
function stepsOf(batch) {
  return batch.sets.flatMap((set, part) => {
    if (PAIRS) return [{ set, part, kind: "pair" }];
    const each = set.documents.map((shown, at) => ({ set, part, kind: "document", shown, at }));
    return RANKED ? [...each, { set, part, kind: "board" }] : each;
  });
}

export class Batch {
  constructor(batch, ended) {
    this.batch = batch;
    this.ended = ended;
    this.steps = [...stepsOf(batch), { kind: "end" }];
    this.done = [];
    this.skipped = new Set();
    this.said = new Map();
    this.spent = new Map();
    for (const set of batch.sets) {
      if (set.ranking) this.said.set(`${set.key}/0`, set.ranking);
      for (const shown of set.documents)
        if (shown.answer) this.said.set(`${set.key}/${shown.position}`, shown.answer);
    }
    for (const { body } of outbox.waiting()) this.keep(body);
    this.build();
    this.go(this.firstOpen(0));
  }

  name(step) {
    return `${step.set.key}/${step.kind === "document" ? step.shown.position : 0}`;
  }

  keep(body) {
    const name = `${body.place}/${body.position ?? 0}`;
    const before = this.said.get(name);
    this.said.set(name, {
      kind: body.kind,
      grade: body.grade ?? null,
      ranks: body.ranks ?? [],
      event: before?.event ?? 0,
      key: body.key,
      passage: body.passage ?? "",
    });
  }

  answer(step) {
    const found = this.said.get(this.name(step));
    return found && found.kind !== "clear" ? found : null;
  }

  answered(step) {
    if (step.kind === "end") return false;
    if (this.skipped.has(step.set.topic.query)) return true;
    if (step.kind === "pair" && this.answer(step) === null) {
      return [1, 2].some(
        (at) => (this.said.get(`${step.set.key}/${at}`)?.kind ?? "clear") !== "clear",
      );
    }
    return this.answer(step) !== null;
  }

  firstOpen(from) {
    const after = this.steps.findIndex(
      (step, at) => at >= from && step.kind !== "end" && !this.answered(step),
    );
    return after >= 0 ? after : this.steps.findIndex((step) => !this.answered(step));
  }

  // --- the page ---------------------------------------------------------------------------------

  build() {
    this.where = h("p", { class: "where" });
    this.progress = h("progress", { max: this.steps.length - 1, "aria-label": t("progress") });
    this.left = h("span", { class: "quiet left" });
    this.saved = h("span", { class: "saved", role: "status" });
    this.topic = h("aside", { class: "topic", "aria-label": t("topic") });
    this.stage = h("div", { class: "stage" });
    this.notes = h("div", { class: "notes", role: "status" });
    this.bar = h("section", { class: "bar", "aria-label": t("bar") });
    this.reader = new Reader();
    const help = button("?", () => this.help(), { class: "small", "aria-label": t("key.help") });
    const own = h(
      "a",
      { href: `/judge/${encodeURIComponent(about.name)}/me`, target: "_blank", rel: "noopener" },
      t("own.short"),
    );
    const top = h(
      "header",
      { class: "top" },
      this.where,
      this.progress,
      this.left,
      this.saved,
      own,
      help,
    );
    const main = document.getElementById("main");
    main.className = "judging";
    main.replaceChildren(top, this.topic, this.stage, this.notes, this.bar);
    this.stage.append(this.reader.root);
  }

  help() {
    keys.dialog(() => this.drawBar());
  }

  asks(step) {
    return Boolean(step.set?.questions.length) && !this.skipped.has(step.set.topic.query);
  }

  // Active seconds on a step, however often it was left and opened again.
  seconds(step, more = clock.take()) {
    const all = (this.spent.get(step) ?? 0) + more;
    this.spent.set(step, all);
    return all;
  }

  async go(at) {
    if (this.at !== undefined) this.seconds(this.steps[this.at]);
    else clock.take();
    this.at = Math.max(0, Math.min(at, this.steps.length - 1));
    const step = this.steps[this.at];
    this.drawTop(step);
    keys.listen(this.acts());
    if (step.kind === "end") return this.drawEnd();
    this.drawTopic(step);
    if (this.asks(step)) return this.drawQuestions(step);
    this.view = null;
    if (step.kind === "document") await this.drawDocument(step);
    else if (step.kind === "pair") this.drawPair(step);
    else this.drawBoard(step);
  }

  drawTop(step) {
    const answered = this.steps.filter((one) => this.answered(one)).length;
    const open = this.steps.filter(
      (one) => one.kind !== "end" && one.kind !== "board" && !this.answered(one),
    ).length;
    const parts = this.batch.sets.length;
    this.where.textContent =
      step.kind === "end"
        ? t("where.end")
        : step.kind === "document"
          ? t("where", {
              part: step.part + 1,
              parts,
              at: step.at + 1,
              n: step.set.documents.length,
            })
          : t(PAIRS ? "where.pair" : "where.part", { part: step.part + 1, parts });
    this.progress.value = answered;
    const minutes = Math.ceil(
      (open * about.minutes_per_batch) / Math.max(1, about.documents_per_batch),
    );
    this.left.textContent = open ? t("minutes.left", { n: minutes }) : "";
  }

  drawTopic(step) {
    if (this.drawnTopic !== step.set) {
      this.drawnTopic = step.set;
      this.topic.replaceChildren(topicOf(step.set.topic));
    }
    if (about.mode !== "owner") return;
    this.topic.querySelector(".earlier")?.remove();
    this.topic.append(earlierOf(this.batch.sets, step.set.topic, this.said));
  }

  async drawDocument(step) {
    if (this.reader.root.parentNode !== this.stage) this.stage.replaceChildren(this.reader.root);
    this.drawBar();
    say(t("announce", { at: step.at + 1, n: step.set.documents.length, title: step.shown.title }));
    await this.reader.open(step.set, step.shown, this.answer(step)?.passage);
    performance.mark("qrowd-shown");
    const next = this.steps
      .slice(this.at + 1)
      .find((one) => one.kind === "document" || one.kind === "pair");
    if (next?.kind === "document") fetched(next.set.key, next.shown.position).catch(() => {});
    if (next?.kind === "pair") [1, 2].forEach((at) => fetched(next.set.key, at).catch(() => {}));
  }

  drawPair(step) {
    this.view = sidesOf(step.set);
    this.stage.replaceChildren(this.view.root);
    this.drawBar();
  }

  drawBoard(step) {
    const said = step.set.documents.map((shown) =>
      this.said.get(`${step.set.key}/${shown.position}`),
    );
    this.view = board(step.set, said, this.answer(step)?.ranks ?? [], (ranks) =>
      this.say({ kind: "ranking", ranks }),
    );
    this.stage.replaceChildren(this.view.root);
    this.drawBar();
    this.view.confirm.focus();
  }

  drawQuestions(step) {
    this.view = null;
    this.stage.replaceChildren(
      askQuestions(step.set, (passed) => {
        const same = this.batch.sets.filter((set) => set.topic.query === step.set.topic.query);
        same.forEach((set) => {
          set.questions = [];
        });
        if (!passed) {
          this.skipped.add(step.set.topic.query);
          this.note(t("questions.failed"));
        }
        this.go(passed ? this.at : this.firstOpen(this.at));
      }),
    );
    this.bar.replaceChildren();
  }

  drawEnd() {
    this.view = { end: true };
    this.drawnTopic = null;
    this.topic.replaceChildren();
    const finish = button(t("finish"), () => this.finish(finish), { class: "main" });
    this.stage.replaceChildren(
      h(
        "section",
        { class: "end" },
        h("h1", { tabindex: -1 }, t("end.title")),
        h("p", {}, t("end.words")),
        h(
          "div",
          { class: "actions" },
          finish,
          button(t("end.back"), () => this.go(this.at - 1)),
        ),
      ),
    );
    this.bar.replaceChildren();
    this.stage.querySelector("h1").focus();
  }

  act(name, text, act, attributes = {}) {
    const key = keys.shown(name);
    const described = {
      "aria-label": text,
      ...(key ? { "aria-keyshortcuts": keys.keyOf(name) } : {}),
    };
    return h(
      "button",
      { type: "button", onclick: act, ...described, ...attributes },
      key ? h("kbd", { "aria-hidden": "true" }, key) : null,
      h("span", {}, text),
    );
  }

  drawBar() {
    const step = this.steps[this.at];
    if (!step.set || this.asks(step)) return;
    const given = this.answer(step);
    const other = [
      step.kind === "board"
        ? null
        : this.act("cannot", t("cannot"), () => this.say({ kind: "cannot-tell" }), {
            class: "quiet-act",
            "aria-pressed": String(given?.kind === "cannot-tell"),
          }),
      step.kind === "board"
        ? null
        : this.act("broken", t("broken"), () => this.say({ kind: "broken" }), {
            class: "quiet-act",
            "aria-pressed": String(given?.kind === "broken"),
          }),
      this.act("undo", t("undo"), () => this.undo(), {
        class: "quiet-act",
        disabled: !this.done.length,
      }),
      h(
        "span",
        { class: "moves" },
        this.act("back", t("key.back"), () => this.go(this.at - 1), {
          class: "quiet-act icon",
          disabled: this.at === 0,
        }),
        this.act("forward", t("key.forward"), () => this.go(this.at + 1), {
          class: "quiet-act icon",
        }),
      ),
    ];
    const held = document.activeElement?.dataset?.act;
    const earlier = step.shown?.reviewed;
    this.bar.replaceChildren(
      earlier ? h("p", { class: "earlier" }, t("earlier", { what: this.word(earlier) })) : "",
      h(
        "div",
        { class: "grades", role: "group", "aria-label": t("grades") },
        this.choices(step, given),
      ),
      h("div", { class: "others" }, other),
    );
    if (held) this.bar.querySelector(`[data-act="${held}"]`)?.focus();
  }

  choices(step, given) {
    if (step.kind === "board") return [this.view.confirm];
    if (step.kind === "pair") {
      return Object.entries(RANKS).map(([name, ranks]) =>
        this.act(name, t(name), () => this.say({ kind: "ranking", ranks }), {
          class: "grade",
          "data-act": name,
          "aria-pressed": String(String(given?.ranks) === String(ranks)),
        }),
      );
    }
    return about.grades.map((grade, at) =>
      this.act(`grade${at}`, label(grade), () => this.grade(grade), {
        class: "grade",
        "data-act": `grade${at}`,
        "aria-pressed": String(given?.kind === "grade" && given.grade === grade),
      }),
    );
  }

  acts() {
    const step = this.steps[this.at];
    const moves = {
      undo: () => this.undo(),
      back: () => this.go(this.at - 1),
      forward: () => this.go(this.at + 1),
      help: () => this.help(),
    };
    if (step.kind === "end" || this.asks(step)) return moves;
    const acts = { ...moves, board: () => this.toBoard() };
    if (step.kind === "board") return acts;
    Object.assign(acts, {
      highlights: () => this.toggleMarks(),
      find: () => focusFind(this.readers()[0]),
      cannot: () => this.say({ kind: "cannot-tell" }),
      broken: () => this.say({ kind: "broken" }),
    });
    if (step.kind === "document")
      about.grades.forEach((grade, at) => {
        acts[`grade${at}`] = () => this.grade(grade);
      });
    else
      Object.entries(RANKS).forEach(([name, ranks]) => {
        acts[name] = () => this.say({ kind: "ranking", ranks });
      });
    return acts;
  }

  readers() {
    return this.view?.readers ?? [this.reader];
  }

  toggleMarks() {
    const on = toggleMarks();
    this.readers().forEach((one) => one.mark());
    say(t(on ? "marks.on" : "marks.off"));
  }

  toBoard() {
    const part = this.steps[this.at].part;
    const at = this.steps.findIndex((one) => one.kind === "board" && one.part === part);
    const graded = this.steps
      .filter((one) => one.kind === "document" && one.part === part)
      .every((one) => this.answered(one));
    if (at >= 0 && graded) this.go(at);
  }

  // --- saying something -------------------------------------------------------------------------

  grade(grade) {
    if (about.justification === "none") return this.say({ kind: "grade", grade });
    askReason(this.reader, label(grade), (notes) => this.say({ kind: "grade", grade, ...notes }));
  }

  say(answer) {
    const step = this.steps[this.at];
    if (step.kind === "end" || this.asks(step)) return;
    const aside = step.kind === "pair" && answer.kind !== "ranking"; // said of the first document
    const position = step.kind === "document" ? step.shown.position : aside ? 1 : 0;
    const name = `${step.set.key}/${position}`;
    this.done.push({ at: this.at, before: this.said.get(name), place: step.set.key, position });
    this.send({ place: step.set.key, position, seconds: this.seconds(step), ...answer });
    this.spent.delete(step);
    if (step.kind === "document" && RANKED) this.reopenBoard(step, answer);
    this.go(this.firstOpen(this.at + 1));
    this.note(t("said", { what: this.word(answer) }));
  }

  word({ kind, grade }) {
    return (
      { "cannot-tell": t("cannot"), broken: t("broken"), ranking: t("ranked") }[kind] ??
      label(grade)
    );
  }

  // A changed grade may no longer fit the order that was chosen: the board comes again.
  reopenBoard(step, answer) {
    const ranking = this.said.get(`${step.set.key}/0`);
    if (!ranking || ranking.kind === "clear" || this.done.at(-1).before?.grade === answer.grade)
      return;
    this.send({ place: step.set.key, position: 0, kind: "clear", seconds: 0 });
  }

  send(answer) {
    const before = this.said.get(`${answer.place}/${answer.position}`);
    this.keep(outbox.add(answer, before?.event ?? 0));
  }

  undo() {
    const last = this.done.pop();
    if (!last) return;
    const { before, place, position } = last;
    const again =
      before &&
      before.kind !== "clear" &&
      !(before.kind === "grade" && about.justification !== "none");
    const what = again
      ? {
          kind: before.kind,
          ...(before.kind === "grade" ? { grade: before.grade } : {}),
          ...(before.kind === "ranking" ? { ranks: before.ranks } : {}),
        }
      : { kind: "clear" };
    this.send({ place, position, seconds: 0, ...what });
    this.go(last.at);
    this.note(t("undone"));
  }

  note(text, seconds = 6) {
    clearTimeout(this.noteTimer);
    this.notes.textContent = text;
    this.noteTimer = setTimeout(() => {
      this.notes.textContent = "";
    }, seconds * 1000);
  }

  // What the outbox tells: saved, waiting, refused.
  told(news) {
    if (news.state === "reply") return this.toldReply(news);
    if (news.state === "refused") return this.toldRefused(news);
    const text = t(`saved.${news.state}`, { n: news.n ?? 0 });
    if (this.saved.textContent !== text) this.saved.textContent = text;
    this.saved.dataset.state = news.state;
  }

  mine({ body }) {
    const said = this.said.get(`${body.place}/${body.position ?? 0}`);
    return said?.key === body.key ? said : null; // else it was given in another tab
  }

  toldReply(news) {
    const said = this.mine(news);
    if (!said) return;
    said.event = news.saved.event;
    this.batch.warn_at = news.saved.warn_at;
    this.batch.expires_at = news.saved.expires_at;
    if (news.saved.stale) this.note(t("saved.stale"));
    else if (news.saved.surplus && !this.toldSurplus) {
      this.toldSurplus = true;
      this.note(t("saved.surplus"));
    }
  }

  toldRefused(news) {
    if (!this.mine(news)) return;
    this.note(problem(news.error));
    if (["closed", "too-late", "not-found"].includes(news.error.code)) this.ended({ closed: true });
  }

  // The batch is reserved for a while; say so before that ends, by the server's clock.
  watch() {
    const now = serverTime();
    if (now < this.batch.warn_at || this.warned === this.batch.warn_at || this.view?.end) return;
    this.warned = this.batch.warn_at;
    this.note(t("lease", { n: Math.max(1, Math.round((this.batch.expires_at - now) / 60000)) }));
  }

  async finish(pressed) {
    pressed.disabled = true;
    await outbox.flush();
    if (outbox.waiting().length) {
      pressed.disabled = false;
      this.note(t("finish.waiting"));
      return;
    }
    this.ended({ finish: true });
  }
}
