// A game: sentences come down one by one and are put to one of three topics, or to none of them.
// Without motion (by choice, or as the system says) they stand in a list. Nothing here knows which
// sentences are known: points are told when the round is over.

import { announce, button, h, prose } from "../dom.js";
import { keyButton } from "../keys.js";
import { isWide } from "../parts.js";
import { fetchDocument } from "../reader.js";
import * as store from "../store.js";
import { about, t } from "../texts.js";
import { Way } from "../way.js";

const STORED = "qrowd:calm";
const BUCKETS = 3;
const NONE = { name: "bucket0", key: String(BUCKETS + 1) };
const NAMES = [
  ...Array.from({ length: BUCKETS }, (_, at) => ({ name: `bucket${at + 1}`, key: String(at + 1) })),
  NONE,
];
const ARROWS = { left: "ArrowLeft", right: "ArrowRight", put: "ArrowDown" };
// Seconds that a sentence takes to come down: some, and more for each word, times the pace.
const SECONDS = 3;
const SECONDS_A_WORD = 0.35;
const FASTER = 0.93;
const SLOWER = 1.25;
const FASTEST = 0.5;
const SLOWEST = 1.6;

function isCalm() {
  return store.get(STORED, matchMedia("(prefers-reduced-motion: reduce)").matches);
}

// A number that looks like chance and stays the same: names of sets are random, for all alike.
function lot(name) {
  let number = 2_166_136_261;
  for (const letter of name) number = Math.imul(number ^ letter.codePointAt(0), 16_777_619) >>> 0;
  return number;
}

function lotOf({ set, positions }) {
  return lot(`${set.key}/${positions[0]}`);
}

// A sentence with its keyword marked; the server made its text safe.
async function sentenceOf({ key }, { position, title }) {
  const { html } = await fetchDocument(key, position);
  const box = h("div");
  box.innerHTML = html;
  const text = box.textContent.trim();
  const at = text.toLowerCase().indexOf(title);
  if (!title || at < 0) return [text];
  const end = at + title.length;
  return [text.slice(0, at), h("mark.keyword", text.slice(at, end)), text.slice(end)];
}

export default class Game extends Way {
  kinds = { grade: "grade" };
  question = "game.question";
  hasScore = true;
  pace = 1;

  keys() {
    const arrows = Object.entries(ARROWS).map(([name, key]) => [
      name,
      { key, text: t(`game.${name}`) },
    ]);
    const buckets = NAMES.map(({ name, key }) => [
      name,
      { key, text: name === NONE.name ? t("game.none") : t("game.bucket", { n: Number(key) }) },
    ]);
    return Object.fromEntries([...buckets, ...arrows]);
  }

  scale() {
    return [
      [`1 – ${BUCKETS}`, t("game.scale")],
      [NONE.key, t("game.none")],
    ];
  }

  // Sentences of sets that have the same topics to choose from are mixed.
  arrange(steps) {
    const rounds = new Map();
    for (const step of steps) {
      const name = JSON.stringify(step.set.buckets);
      rounds.set(name, [...(rounds.get(name) ?? []), step]);
    }
    for (const round of rounds.values()) {
      round.sort((first, second) => lotOf(first) - lotOf(second));
      for (const step of round) step.round = round;
    }
    const mixed = [...rounds.values()].flat();
    for (const [at, step] of mixed.entries()) Object.assign(step, { at, n: mixed.length });
    return mixed;
  }

  where({ at, n }) {
    return t("game.where", { at: at + 1, n });
  }

  subjectOf(step) {
    return step.round;
  }

  aside({ set }) {
    const { instructions } = about;
    return h(
      "details.fold",
      { open: isWide() },
      h("summary", h("h1.query", t("game.topics"))),
      set.buckets.map(({ query, description, narrative, language }) =>
        h(
          "section.topic-text",
          { dir: "auto", lang: language || null },
          h("h2", query),
          prose(description),
          prose(narrative),
        ),
      ),
      instructions ? h("div.topic-text", h("h2", t("instructions")), prose(instructions)) : null,
    );
  }

  choicesAt({ set }) {
    const [off, on] = about.grades;
    const topics = set.buckets.map(({ query }, at) => ({
      ...NAMES[at],
      text: query,
      answer: { kind: "grade", grade: query === set.topic.query ? on : off, bucket: query },
    }));
    return [
      ...topics,
      { ...NONE, text: t("game.none"), answer: { kind: "grade", grade: off, bucket: "" } },
    ];
  }

  controls(step, page) {
    const current = page.answerTo(step);
    return this.choicesAt(step).map(({ name, text, answer }) =>
      keyButton(name, text, () => page.choose(answer), {
        class: "grade bucket",
        dir: "auto",
        "data-act": name,
        "aria-pressed": String(this.isSame(answer, current)),
      }),
    );
  }

  actions(step, page) {
    const puts = this.choicesAt(step).map(({ name, answer }) => [name, () => page.choose(answer)]);
    return {
      ...Object.fromEntries(puts),
      left: () => this.aim(page, -1),
      right: () => this.aim(page, 1),
      put: () => page.bar.querySelector(".bucket:focus")?.click(),
      find: null,
      highlights: null,
    };
  }

  // The next bucket to one side has the focus; at first, the one in the middle.
  aim(page, step) {
    const buckets = [...page.bar.querySelectorAll(".bucket")];
    const at = buckets.indexOf(document.activeElement);
    const next = at < 0 ? 1 : Math.max(0, Math.min(buckets.length - 1, at + step));
    buckets[next].focus();
  }

  content(answer) {
    const { kind, grade, bucket } = answer;
    return kind === "grade" ? { kind, grade, bucket } : { kind };
  }

  opinion({ bucket }) {
    return bucket || t("game.none");
  }

  // --- what stands on the stage -----------------------------------------------------------------

  draw(step, page) {
    this.fall?.cancel();
    this.fall = null;
    // All sentences, so that a round goes on without a network.
    for (const { set, documents } of page.steps) {
      if (set) fetchDocument(set.key, documents[0].position).catch(() => {});
    }
    return isCalm() ? this.drawList(step, page) : this.drawFall(step, page);
  }

  switchButton(page) {
    return button(
      t("game.calm"),
      () => {
        store.put(STORED, !isCalm());
        this.list = null;
        page.go(page.index);
      },
      { class: "small", "aria-pressed": String(isCalm()) },
    );
  }

  drawFall(step, page) {
    const sentence = h("p.sentence", { dir: "auto" });
    const field = h("div.fall", sentence);
    const root = h("section.game", { "aria-label": t("game") }, this.switchButton(page), field);
    return { root, readers: [], ready: this.start(step, page, field, sentence) };
  }

  async start(step, page, field, sentence) {
    const [shown] = step.documents;
    try {
      sentence.replaceChildren(...(await sentenceOf(step.set, shown)));
    } catch (error) {
      const again = button(t("again"), () => page.go(page.index));
      field.replaceChildren(h("p.note", t("error.unreachable")), again);
      throw error;
    }
    if (!field.isConnected) return; // answered before it was there
    announce(sentence.textContent);
    const way = Math.max(0, field.clientHeight - sentence.offsetHeight);
    const words = sentence.textContent.split(/\s+/).length;
    const fall = sentence.animate([{ transform: "none" }, { transform: `translateY(${way}px)` }], {
      duration: 1000 * this.pace * (SECONDS + SECONDS_A_WORD * words),
      fill: "forwards",
    });
    // It waits there for an answer, and the next one comes more slowly.
    fall.onfinish = () => {
      sentence.classList.add("arrived");
      this.pace = Math.min(SLOWEST, this.pace * SLOWER);
    };
    this.fall = fall;
  }

  // Each one that is put before it has come down makes the next one faster.
  follow() {
    if (this.fall?.playState === "running") this.pace = Math.max(FASTEST, this.pace * FASTER);
  }

  drawList(step, page) {
    if (this.list?.round !== step.round || this.list.page !== page) {
      this.list = new List(step.round, page, this);
    }
    const ready = this.list.show(step);
    return { root: this.list.root, readers: [], ready };
  }

  // --- after the round --------------------------------------------------------------------------

  heading(set, shown) {
    const heading = h("span", { dir: "auto" }, shown.title);
    sentenceOf(set, shown).then(
      (nodes) => heading.replaceChildren(...nodes),
      () => {},
    );
    return heading;
  }

  expertWords({ expert }, { topic }) {
    return expert >= about.relevant_from ? topic.query : t("game.not", { topic: topic.query });
  }

  score({ points }) {
    if (!points) return null;
    return h("p.points", t(points.made < points.best ? "game.points" : "game.points.best", points));
  }
}

// The sentences of a round below one another; one of them is to be put now.
class List {
  constructor(round, page, way) {
    this.round = round;
    this.page = page;
    this.way = way;
    this.items = round.map((step) => {
      const text = h("span");
      const choice = h("span.said");
      const go = button(text, () => page.go(page.steps.indexOf(step)), {
        class: "plain",
        dir: "auto",
      });
      const item = { step, text, choice, root: h("li", go, choice) };
      List.load(item).catch(() => {});
      return item;
    });
    this.root = h(
      "section.game",
      { "aria-label": t("game") },
      way.switchButton(page),
      h(
        "ol.sentences",
        this.items.map(({ root }) => root),
      ),
    );
  }

  static async load(item) {
    const { step, text } = item;
    if (item.isHere) return;
    text.replaceChildren("…");
    text.replaceChildren(...(await sentenceOf(step.set, step.documents[0])));
    item.isHere = true;
  }

  async show(current) {
    for (const { step, choice, root } of this.items) {
      const isCurrent = step === current;
      const answer = this.page.answerTo(step);
      choice.textContent = answer ? this.way.words(answer) : "";
      root.classList.toggle("current", isCurrent);
      if (isCurrent) root.setAttribute("aria-current", "step");
      else root.removeAttribute("aria-current");
    }
    const item = this.items.find(({ step }) => step === current);
    await List.load(item);
    announce(item.text.textContent);
    item.root.scrollIntoView?.({ block: "nearest" });
  }
}
