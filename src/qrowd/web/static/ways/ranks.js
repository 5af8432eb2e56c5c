// A grade for each document of a set, then an order of all of them, on a board.

import { announce, button, h, mainButton } from "../dom.js";
import { about, label, t } from "../texts.js";
import Grades from "./grades.js";

const FREE = about.way === "free-ranks";
const UNGRADED = -Infinity; // last
const STEPS = { ArrowUp: -1, ArrowDown: 1 };

function labelOf(grade) {
  return grade === UNGRADED ? t("board.ungraded") : label(grade);
}

export default class Ranks extends Grades {
  kinds = { grade: "grade", ranking: "ranks" };

  keys() {
    return { ...super.keys(), board: { key: "r", text: t("key.board") } };
  }

  stepsOf(set) {
    return [...super.stepsOf(set), { board: true, documents: [], positions: [0] }];
  }

  where(step, values) {
    return step.board ? t("where.part", values) : super.where(step, values);
  }

  draw(step, page) {
    if (!step.board) return super.draw(step, page);
    const { key, documents } = step.set;
    const answers = documents.map(({ position }) => page.answerAt(key, position));
    const ranks = page.answerTo(step)?.ranks ?? [];
    return new Board(documents, answers, ranks, (chosen) => {
      page.record({ kind: "ranking", ranks: chosen });
    });
  }

  controls(step, page) {
    return step.board ? page.view.confirm : super.controls(step, page);
  }

  actions(step, page) {
    const actions = step.board ? {} : super.actions(step, page);
    return { ...actions, board: () => this.openBoard(step.set, page) };
  }

  openBoard(set, page) {
    const steps = page.steps.filter((step) => step.set === set);
    if (steps.some((step) => !step.board && page.isOpen(step))) return;
    page.go(page.steps.indexOf(steps.at(-1)));
  }

  opinion(answer) {
    return answer.kind === "ranking" ? t("ranked") : super.opinion(answer);
  }

  // A changed grade may no longer fit the order that was chosen: the board comes again.
  follow(step, answer, earlier, page) {
    const isChanged = !step.board && !this.isSame(answer, earlier);
    if (isChanged && page.answerAt(step.set.key, 0)) page.clear(step.set.key, 0);
  }
}

// The documents of a set in one order, best first. Where sets are ranked by grade, only the order
// within a grade is left to choose; with free ranks, relevant ones must come before the others.
// `order` lists the documents by their indices.
class Board {
  // `answers`: one per document. `ranks`: what was said before, in the order shown.
  constructor(documents, answers, ranks, onConfirm) {
    this.documents = documents;
    this.grades = answers.map((answer) => (answer?.kind === "grade" ? answer.grade : UNGRADED));
    this.order = this.firstOrder(ranks);
    this.list = h("div.board");
    this.problem = h("p.note", { role: "alert", hidden: true });
    this.confirm = mainButton(t("board.right"), () => {
      if (this.fits()) onConfirm(this.ranks());
    });
    this.root = h(
      "section.board-page",
      { tabindex: -1 },
      h("h2", t("board.title")),
      h("p", t(FREE ? "board.words.free" : "board.words")),
      this.list,
      this.problem,
    );
    this.draw();
  }

  focus() {
    this.confirm.focus();
  }

  firstOrder(ranks) {
    const byRank = (first, second) => (ranks[first] ?? 0) - (ranks[second] ?? 0);
    const byGrade = (first, second) => this.grades[second] - this.grades[first];
    const compare = (first, second) =>
      byGrade(first, second) || byRank(first, second) || first - second;
    return [...this.documents.keys()].sort(FREE && ranks.length ? byRank : compare);
  }

  ranks() {
    return this.documents.map((_, index) => this.order.indexOf(index) + 1);
  }

  fits() {
    if (!FREE) return true;
    const relevant = this.order
      .map((index) => this.grades[index])
      .filter((grade) => grade !== UNGRADED)
      .map((grade) => grade >= about.relevant_from);
    const firstOther = relevant.indexOf(false);
    return firstOther < 0 || !relevant.includes(true, firstOther);
  }

  canMove(from, to) {
    if (to < 0 || to >= this.order.length) return false;
    return FREE || this.grades[this.order[from]] === this.grades[this.order[to]];
  }

  move(from, to) {
    if (from === to || !this.canMove(from, to)) return;
    const [index] = this.order.splice(from, 1);
    this.order.splice(to, 0, index);
    this.draw();
    this.list.querySelector(`[data-at="${index}"]`).focus();
    announce(t("board.moved", { title: this.documents[index].title, n: to + 1 }));
  }

  draw() {
    const groups = [];
    for (const [place, index] of this.order.entries()) {
      const grade = this.grades[index];
      const isFirst = groups.length === 0 || (!FREE && groups.at(-1).grade !== grade);
      if (isFirst) groups.push({ grade, cards: [] });
      groups.at(-1).cards.push(this.cardAt(place));
    }
    const nodes = groups.flatMap(({ grade, cards }) => {
      const list = h("ol", cards);
      return FREE ? [list] : [h("h3", labelOf(grade)), list];
    });
    this.list.replaceChildren(...nodes);
    this.problem.hidden = this.fits();
    this.problem.textContent = t("board.incompatible");
  }

  cardAt(place) {
    const index = this.order[place];
    const { title } = this.documents[index];
    const card = h(
      "li.card",
      {
        tabindex: 0,
        draggable: "true",
        "data-at": index,
        "aria-label": t("board.card", { n: place + 1, title }),
      },
      h("span.place", String(place + 1)),
      h("span.name", title || t("untitled")),
      FREE ? h("span.quiet", labelOf(this.grades[index])) : null,
      this.moveButton("↑", t("board.up"), place, place - 1),
      this.moveButton("↓", t("board.down"), place, place + 1),
    );
    card.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (!step) return;
      event.preventDefault();
      this.move(place, place + step);
    });
    card.addEventListener("dragstart", (event) => {
      event.dataTransfer.setData("text/plain", String(place));
    });
    card.addEventListener("dragover", (event) => event.preventDefault());
    card.addEventListener("drop", (event) => {
      event.preventDefault();
      this.drop(Number(event.dataTransfer.getData("text/plain")), place);
    });
    return card;
  }

  moveButton(text, description, from, to) {
    return button(text, () => this.move(from, to), {
      class: "small",
      "aria-label": description,
      disabled: !this.canMove(from, to),
    });
  }

  // Only where it could have been moved step by step.
  drop(from, to) {
    if (!(from in this.order)) return; // something else was dragged here
    const step = Math.sign(to - from);
    for (let place = from; place !== to; place += step) {
      if (!this.canMove(from, place + step)) return;
    }
    this.move(from, to);
  }
}
