// Two documents side by side: which one is better.

import { announce, h } from "../dom.js";
import { documentOf, Reader } from "../reader.js";
import { t } from "../texts.js";
import { Way } from "../way.js";

const CHOICES = [
  { name: "pair.left", key: "1", ranks: [1, 2] },
  { name: "pair.same", key: "0", ranks: [1, 1] },
  { name: "pair.right", key: "2", ranks: [2, 1] },
];

export default class Preferences extends Way {
  kinds = { ranking: "ranks" };
  instructions = "instructions.none.pairs";

  choices() {
    return CHOICES.map(({ name, key, ranks }) => ({
      name,
      key,
      text: t(name),
      answer: { kind: "ranking", ranks },
    }));
  }

  stepsOf(set) {
    return [{ documents: set.documents, positions: [0, 1, 2] }];
  }

  // All but the order is said of the first document.
  positionOf(step, answer) {
    return answer.kind === "ranking" ? 0 : 1;
  }

  // One answer at a time: an order takes the place of "cannot tell", and the other way round.
  follow(step, answer, _earlier, page) {
    const { key } = step.set;
    for (const position of step.positions) {
      const isOther = position !== this.positionOf(step, answer);
      if (isOther && page.answerAt(key, position)) page.clear(key, position);
    }
  }

  where(step, values) {
    return t("where.pair", values);
  }

  // Below one another on a phone.
  draw({ set }) {
    this.readers ??= ["left", "right"].map((name) => new Reader(name, t(`document.${name}`)));
    this.root ??= h(
      "div.sides",
      this.readers.map(({ root }) => root),
    );
    const titles = set.documents.map(
      ({ title }, index) => `${index + 1} · ${title || t("untitled")}`,
    );
    announce(titles.join("; "));
    const opened = this.readers.map((reader, index) =>
      reader.open({ ...documentOf(set, set.documents[index]), title: titles[index] }),
    );
    return { root: this.root, readers: this.readers, ready: Promise.all(opened) };
  }
}
