// The rank board: the documents of a set in one order, best first. Where sets are ranked by grade, only
// the order within a grade is left to choose; with free ranks, relevant ones must come before the others.

import { button, h, say } from "./dom.js";
import { about, label, t } from "./texts.js";

// `said`: an answer per document. `ranks`: what was said before. Returns ranks in the order shown.
export function board(set, said, ranks, done) {
  const free = about.way === "free-ranks";
  const grade = (at) => (said[at]?.kind === "grade" ? said[at].grade : -Infinity);
  let order = set.documents.map((_, at) => at);
  order.sort((one, two) =>
    free && ranks.length
      ? ranks[one] - ranks[two]
      : grade(two) - grade(one) || (ranks[one] ?? 0) - (ranks[two] ?? 0) || one - two,
  );
  const list = h("div", { class: "board" });
  const problem = h("p", { class: "note", role: "alert", hidden: true });

  function may(one, two) {
    return two >= 0 && two < order.length && (free || grade(order[one]) === grade(order[two]));
  }
  function move(from, to) {
    if (!may(from, to) || from === to) return;
    const [card] = order.splice(from, 1);
    order.splice(to, 0, card);
    draw();
    list.querySelector(`[data-at="${card}"]`).focus();
    say(t("board.moved", { title: set.documents[card].title, n: to + 1 }));
  }
  function card(document, place) {
    const made = h(
      "li",
      {
        class: "card",
        tabindex: 0,
        draggable: "true",
        "data-at": order[place],
        "aria-label": t("board.card", { n: place + 1, title: document.title }),
      },
      h("span", { class: "place" }, String(place + 1)),
      h("span", { class: "name" }, document.title || t("untitled")),
      free ? h("span", { class: "quiet" }, name(grade(order[place]))) : null,
      button("↑", () => move(place, place - 1), {
        "aria-label": t("board.up"),
        disabled: !may(place, place - 1),
        class: "small",
      }),
      button("↓", () => move(place, place + 1), {
        "aria-label": t("board.down"),
        disabled: !may(place, place + 1),
        class: "small",
      }),
    );
    made.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      move(place, place + step);
    });
    made.addEventListener("dragstart", (event) =>
      event.dataTransfer.setData("text/plain", String(place)),
    );
    made.addEventListener("dragover", (event) => event.preventDefault());
    made.addEventListener("drop", (event) => {
      event.preventDefault();
      const from = Number(event.dataTransfer.getData("text/plain"));
      const between = Array.from(
        { length: Math.abs(place - from) + 1 },
        (_, at) => Math.min(place, from) + at,
      );
      if (between.every((at) => may(from, at))) move(from, place);
    });
    return made;
  }
  function name(one) {
    return one === -Infinity ? t("board.ungraded") : label(one);
  }
  function draw() {
    const groups = [];
    order.forEach((at, place) => {
      const last = groups.at(-1);
      if (!last || (!free && last.grade !== grade(at)))
        groups.push({ grade: grade(at), cards: [] });
      groups.at(-1).cards.push(card(set.documents[at], place));
    });
    list.replaceChildren(
      ...groups
        .flatMap((group) => [
          free ? null : h("h3", {}, name(group.grade)),
          h("ol", {}, group.cards),
        ])
        .filter(Boolean),
    );
    problem.hidden = !free || fits();
    problem.textContent = t("board.incompatible");
  }
  function fits() {
    const graded = order
      .filter((at) => grade(at) !== -Infinity)
      .map((at) => grade(at) >= about.relevant_from);
    return graded.every((relevant, at) => !relevant || graded.slice(0, at).every(Boolean));
  }
  draw();
  const confirm = button(
    t("board.right"),
    () => {
      if (free && !fits()) return;
      done(set.documents.map((_, at) => order.indexOf(at) + 1));
    },
    { class: "main" },
  );
  return {
    root: h(
      "section",
      { class: "board-page", tabindex: -1 },
      h("h2", {}, t("board.title")),
      h("p", {}, t(free ? "board.words.free" : "board.words")),
      list,
      problem,
    ),
    confirm,
  };
}
