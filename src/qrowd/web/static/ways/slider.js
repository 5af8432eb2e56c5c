// A number from 0 to 100 for each document. The campaign's cuts make grades of numbers.

import { button, h } from "../dom.js";
import { keyButton } from "../keys.js";
import { about, label, t } from "../texts.js";
import { Way } from "../way.js";

const MOST = 100;
const MIDDLE = MOST / 2;
const TENS = Array.from({ length: 10 }, (_, digit) => ({
  name: `tens${digit}`,
  key: String(digit),
  value: digit * 10,
}));
// What these do on a focused slider is the browser's.
const MOVES = /^(Arrow.+|Page.+|Home|End)$/;

function gradeOf(value) {
  return about.grades[about.cuts.filter((cut) => cut <= value).length];
}

// Each grade's part of the scale.
function zones() {
  const ends = [...about.cuts, MOST];
  return about.grades.map((grade, index) => {
    const start = index ? ends[index - 1] : 0;
    const last = grade === about.grades.at(-1) ? MOST : Math.ceil(ends[index]) - 1;
    return {
      grade,
      words: t("slider.zone", { from: Math.ceil(start), to: last }),
      share: ends[index] - start,
    };
  });
}

export default class Slider extends Way {
  kinds = { rating: "value" };

  keys() {
    const tens = TENS.map(({ name, key, value }) => [
      name,
      { key, text: t("slider.set", { value }) },
    ]);
    return { ...Object.fromEntries(tens), say: { key: "Enter", text: t("slider.say.key") } };
  }

  scale() {
    return zones().map(({ grade, words }) => [words, label(grade)]);
  }

  controls(step, page) {
    // A number that is not said yet stays when the bar is drawn again.
    const isMoved = this.moved?.step === step;
    const value = isMoved ? this.moved.value : page.answerTo(step)?.value;
    const [{ reviewed }] = step.documents;
    this.field = new Field(value ?? null, reviewed?.value ?? MIDDLE, {
      onMove: (chosen) => {
        this.moved = { step, value: chosen };
      },
      onSay: (chosen) => page.choose({ kind: "rating", value: chosen }),
    });
    return this.field.nodes;
  }

  actions() {
    const tens = TENS.map(({ name, value }) => [name, () => this.field.moveTo(value)]);
    return { ...Object.fromEntries(tens), say: () => this.field.say() };
  }

  opinion({ value, grade }) {
    return t("slider.words", { value, grade: label(grade ?? gradeOf(value)) });
  }

  // Arrows scroll the next document until its number is chosen.
  follow(_step, _answer, _earlier, page) {
    this.moved = null;
    page.reader.page.focus();
  }
}

// The slider and its button. There is no `value` (null) before somebody moves it; the thumb waits
// at `start` until then.
class Field {
  constructor(value, start, { onMove, onSay }) {
    this.start = start;
    this.onMove = onMove;
    this.onSay = onSay;
    this.input = h("input", {
      type: "range",
      id: "slider",
      "data-act": "slider",
      min: 0,
      max: MOST,
    });
    this.number = h("span.number", { "aria-hidden": "true" });
    this.zones = zones().map(({ grade, words, share }) => {
      const zone = h("li", { "data-grade": grade }, h("span.unseen", `${words}: `), label(grade));
      zone.style.flexGrow = share;
      return zone;
    });
    this.root = h(
      "div.slider",
      h("label.unseen", { for: "slider" }, t("slider.label")),
      this.number,
      this.input,
      h(
        "div.ends",
        { "aria-hidden": "true" }, // the label says it
        h("span", t("slider.low")),
        h("span", t("slider.high")),
      ),
      h("ol.zones", this.zones),
    );
    this.sayButton = keyButton("say", "", () => this.say(), {
      class: "main",
      "data-act": "say",
      "aria-label": null, // what it says
    });
    const nudge = (sign, text, step) =>
      button(sign, () => this.take((this.value ?? this.start) + step), {
        class: "nudge",
        "aria-label": text,
      });
    this.nodes = [
      this.root,
      h(
        "div.say",
        nudge("−", t("slider.less"), -1),
        this.sayButton,
        nudge("+", t("slider.more"), 1),
      ),
    ];
    this.listen();
    this.show(value);
  }

  listen() {
    const take = () => this.take(Number(this.input.value));
    this.input.addEventListener("input", take);
    this.input.addEventListener("click", take); // where the thumb waits already
    this.input.addEventListener("keydown", (event) => {
      if (MOVES.test(event.key)) event.stopPropagation();
    });
  }

  take(value) {
    const within = Math.max(0, Math.min(MOST, value));
    this.onMove(within);
    this.show(within);
  }

  // By a key: arrows go on from there.
  moveTo(value) {
    this.take(value);
    this.input.focus();
  }

  say() {
    if (this.value !== null) this.onSay(this.value);
  }

  show(value) {
    this.value = value;
    const isChosen = value !== null;
    const grade = isChosen ? gradeOf(value) : null;
    const values = { value, grade: label(grade) };
    this.input.value = value ?? this.start;
    this.input.setAttribute(
      "aria-valuetext",
      isChosen ? t("slider.value", values) : t("slider.unset"),
    );
    this.root.classList.toggle("unset", !isChosen);
    this.root.style.setProperty("--at", (value ?? this.start) / MOST);
    this.number.textContent = isChosen ? String(value) : "";
    for (const zone of this.zones) {
      zone.classList.toggle("current", isChosen && zone.dataset.grade === String(grade));
    }
    this.sayButton.disabled = !isChosen;
    this.sayButton.lastChild.replaceChildren(
      ...(isChosen ? [t("slider.say", values), h("small", label(grade))] : [t("slider.first")]),
    );
  }
}
