// A way of judging: the steps of a set, what can be said at each, and how both look. Each way is
// one script in `ways`, whose class extends this one; the server names the script, and nothing else
// knows it. As it stands here, every document is a step and is answered by buttons in a row.

import { announce } from "./dom.js";
import { keyButton } from "./keys.js";
import { topicOf } from "./parts.js";
import { documentOf } from "./reader.js";
import { label, t } from "./texts.js";

// Said of any document, whatever the way.
const OTHER_WORDS = { "cannot-tell": "cannot", broken: "broken" };

export class Way {
  // The kinds of answers, and the field that holds what was said: { grade: "grade" }.
  kinds = {};

  // The name of the text that asks for an answer.
  question = "grades";

  // Whether a batch brings something beside pay, which is read before the next one (`score`).
  hasScore = false;

  // The name of the text that stands in for a campaign's instructions where it has none.
  instructions = "instructions.none";

  // What somebody may choose to say: { name, key, text, answer }. Names are stored with the keys
  // that people change, and are permanent.
  choices() {
    return [];
  }

  // What keys do, beside those of every way: { name: { key, text } }.
  keys() {
    return Object.fromEntries(this.choices().map(({ name, key, text }) => [name, { key, text }]));
  }

  // The scale that is explained before the first batch: pairs of a mark and its words.
  scale() {
    return [];
  }

  // `documents`: those that are read. `positions`: the answers at these (0: the whole set) answer
  // the step. The page adds `set` and `part`, the set's number from 0 on.
  stepsOf(set) {
    return set.documents.map((shown, at) => ({
      documents: [shown],
      positions: [shown.position],
      at,
    }));
  }

  // The steps of a batch in the order in which they come.
  arrange(steps) {
    return steps;
  }

  // What is asked at a step, beside it; drawn anew only where its subject is another one.
  aside(step) {
    return topicOf(step.set.topic);
  }

  subjectOf(step) {
    return step.set;
  }

  // The position that an answer is about.
  positionOf(step, _answer) {
    return step.positions[0];
  }

  // Where somebody is; `values`: the part and how many there are.
  where(step, values) {
    return t("where", { ...values, at: step.at + 1, n: step.set.documents.length });
  }

  // What stands on the stage: { root, readers, ready, focus }, all but the first optional. `page`
  // is the batch's.
  draw(step, page) {
    const [shown] = step.documents;
    const n = step.set.documents.length;
    announce(t("announce", { at: step.at + 1, n, title: shown.title }));
    const { reader } = page;
    const ready = reader.open(documentOf(step.set, shown), page.answerTo(step)?.passage);
    return { root: reader.root, readers: [reader], ready };
  }

  // What the bar has to answer by.
  controls(step, page) {
    const current = page.answerTo(step);
    return this.choices().map(({ name, text, answer }) =>
      keyButton(name, text, () => page.choose(answer), {
        class: "grade",
        "data-act": name,
        "aria-pressed": String(this.isSame(answer, current)),
      }),
    );
  }

  // What its keys do at a step: { name: function }.
  actions(_step, page) {
    return Object.fromEntries(
      this.choices().map(({ name, answer }) => [name, () => page.choose(answer)]),
    );
  }

  // An answer without its time, its number and its notes, as undo sends it again.
  content(answer) {
    const field = this.kinds[answer.kind];
    return field ? { kind: answer.kind, [field]: answer[field] } : { kind: answer.kind };
  }

  isSame(answer, other) {
    return (
      Boolean(other) && JSON.stringify(this.content(answer)) === JSON.stringify(this.content(other))
    );
  }

  // An answer in words.
  words(answer) {
    const other = OTHER_WORDS[answer.kind];
    return other ? t(other) : this.opinion(answer);
  }

  // The words of an answer of one of its own kinds.
  opinion(answer) {
    const choice = this.choices().find((each) => this.isSame(each.answer, answer));
    return choice?.text ?? label(answer.grade);
  }

  // --- after the batch: a check question that was missed, and what the batch brought -------------

  heading(_set, shown) {
    return shown?.title || t("untitled");
  }

  // What an expert said of it.
  expertWords(missed, _set) {
    return label(missed.expert);
  }

  score(_result) {
    return null;
  }

  // Called when an answer was given; `earlier` is the one that it replaces.
  follow(_step, _answer, _earlier, _page) {}
}
