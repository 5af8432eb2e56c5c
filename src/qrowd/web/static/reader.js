// The reader: a document made safe by the server, with query terms underlined, find and zoom.
// Highlights are drawn over the text (CSS custom highlights), so that the document stays as it is.

import { readDocument } from "./api.js";
import { button, h } from "./dom.js";
import { splitIntoParcels } from "./parcels.js";
import { sheetOf } from "./sheets.js";
import * as store from "./store.js";
import { t } from "./texts.js";

const SIZES = [0.875, 1, 1.125, 1.25, 1.5, 1.75, 2];
const TEXT_SIZE = 1.0625; // rem, at size 1
const MOST_RANGES = 2000;
const STORED = "qrowd:reader";
const SPACELESS = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
const ENDING = /(?<=.{3})(es|s|ing|ed)$/u;
const MOST_KEPT = 40_000_000; // characters of documents
const preferences = store.get(STORED, { size: 1, marks: true });
const contents = new Map(); // { promise, size } by their names
let kept = 0; // characters
const canHighlight = "highlights" in CSS;

// A document by its name, fetched once: by `load` where it is not here. Those that were asked for
// longest ago are forgotten.
export function fetchOnce(name, load) {
  const earlier = contents.get(name);
  if (earlier) {
    contents.delete(name);
    contents.set(name, earlier);
    return earlier.promise;
  }
  const promise = load().then((content) => {
    if (content.kind === "image") new Image().src = content.original;
    if (content.kind === "pages") new Image().src = `${content.original}/1`;
    keep(name, content);
    return content;
  });
  contents.set(name, { promise, size: 0 });
  promise.catch(() => contents.delete(name));
  return promise;
}

function keep(name, { html, pages }) {
  const entry = contents.get(name);
  if (!entry) return;
  entry.size = html.length + JSON.stringify(pages).length;
  kept += entry.size;
  for (const [oldest, { size }] of contents) {
    if (kept <= MOST_KEPT || oldest === name) return;
    kept -= size;
    contents.delete(oldest);
  }
}

// A document of a batch.
export function fetchDocument(setKey, position) {
  return fetchOnce(`${setKey}/${position}`, () => readDocument(setKey, position));
}

// A document of a batch as a reader opens it.
export function documentOf(set, { title, position }) {
  return { topic: set.topic, title, load: () => fetchDocument(set.key, position) };
}

// On phones, a tap on a grade takes the selection away: each reader remembers what was marked.
const readers = new WeakMap(); // by their pages
document.addEventListener("selectionchange", () => {
  const marked = getSelection();
  const node = marked?.anchorNode;
  const page = (node instanceof Element ? node : node?.parentElement)?.closest(".page");
  const text = marked?.toString().trim();
  const reader = page && readers.get(page);
  if (text && reader) reader.selection = text;
});

// Static: live ranges would make every later change of the page slow.
function rangesOf(root, pattern) {
  const ranges = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  let node = walker.nextNode();
  while (node && ranges.length < MOST_RANGES) {
    for (const match of node.data.matchAll(pattern)) {
      ranges.push(
        new StaticRange({
          startContainer: node,
          startOffset: match.index,
          endContainer: node,
          endOffset: match.index + match[0].length,
        }),
      );
    }
    node = walker.nextNode();
  }
  return ranges;
}

function highlight(name, ranges) {
  if (canHighlight) CSS.highlights.set(name, new Highlight(...ranges));
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

// A word of the query with other endings; in languages without spaces as it stands.
function wordPattern(word) {
  if (SPACELESS.test(word)) return escaped(word);
  const stem = escaped(word.replace(ENDING, ""));
  return `(?<![\\p{L}\\p{N}])${stem}\\p{L}{0,3}(?![\\p{L}\\p{N}])`;
}

function termPattern(query) {
  const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
  const telling = [...words].filter((word) => word.length > 2 || SPACELESS.test(word));
  return telling.length ? new RegExp(telling.map(wordPattern).join("|"), "giu") : null;
}

// A passage, line by line: one that was marked over several elements is found in each.
function passagePattern(passage) {
  const lines = passage
    .split(/\n+/)
    .map((line) => line.trim())
    .filter(Boolean)
    .map((line) => escaped(line).replace(/\s+/g, "\\s+"));
  return lines.length ? new RegExp(lines.join("|"), "gu") : null;
}

export class Reader {
  // The style sheet knows these names: "reader" alone, "left" and "right" of a pair; `label` is
  // the name that it has for screen readers.
  constructor(name = "reader", label = t("document")) {
    this.name = name;
    this.title = h("h2.doc-title", { id: `${name}-title` });
    this.page = h("article.page", { tabindex: 0, "aria-labelledby": `${name}-title` });
    this.findField = h("input", {
      type: "search",
      id: `${name}-find`,
      placeholder: t("find"),
      "aria-label": t("find.words"),
      size: 10,
    });
    this.hits = h("span.quiet.hits", { role: "status" });
    this.originalButton = button(t("original"), () => this.toggleOriginal(), {
      class: "small original",
      "aria-pressed": "false",
    });
    this.titleButton = button(t("title.whole"), () => this.showTitle(!this.showsTitle), {
      class: "small",
      "aria-expanded": "false",
      hidden: true,
    });
    this.originalNote = h(
      "p.frame-note",
      { hidden: true },
      t("original.words"),
      " ",
      button(t("original.back"), () => this.toggleOriginal(), { class: "small" }),
    );
    const tools = h(
      "div.tools",
      this.titleButton,
      this.hits,
      this.findField,
      button("A−", () => this.zoom(-1), { class: "small", "aria-label": t("zoom.out") }),
      button("A+", () => this.zoom(1), { class: "small", "aria-label": t("zoom.in") }),
      this.originalButton,
    );
    this.root = h(
      "section.reader",
      { "aria-label": label },
      h("div.reader-top", this.title, tools),
      this.originalNote,
      this.page,
    );
    this.listen();
    this.zoom(0);
  }

  listen() {
    this.findField.addEventListener("input", () => this.findFirst());
    this.findField.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.findNext();
      if (event.key === "Escape") {
        this.findField.value = "";
        this.findFirst();
        this.page.focus();
      }
    });
    readers.set(this.page, this);
    new ResizeObserver(() => this.fitTitle()).observe(this.title);
  }

  // A title of more than two lines is cut, until somebody asks for all of it.
  showTitle(whole) {
    this.showsTitle = whole;
    this.title.classList.toggle("whole", whole);
    if (whole) this.title.tabIndex = 0; // a very long one scrolls
    else this.title.removeAttribute("tabindex");
    this.titleButton.setAttribute("aria-expanded", String(whole));
    this.fitTitle();
  }

  fitTitle() {
    const { scrollHeight, clientHeight } = this.title;
    this.titleButton.hidden = !this.showsTitle && scrollHeight <= clientHeight + 1;
  }

  // Open { topic, title, load }, the last of which fetches it. `state` is "loading" until the
  // document is in its place ("shown"); what cannot be shown is "unseen", what did not come "lost".
  async open(document, passage = "") {
    const { topic, title, load } = document;
    const turn = Symbol("turn");
    this.turn = turn;
    this.state = "loading";
    this.again = () => this.onAgain(() => this.open(document, passage));
    this.passage = passage;
    this.selection = "";
    this.content = null;
    this.showsOriginal = false;
    this.query = topic.query;
    this.title.textContent = title || t("untitled");
    this.showTitle(false);
    this.page.setAttribute("aria-busy", "true");
    this.originalButton.hidden = true;
    this.originalNote.hidden = true;
    this.page.lang = topic.language || "";
    const patience = setTimeout(() => {
      if (turn === this.turn) this.page.replaceChildren(h("p.quiet", t("loading")));
    }, 300);
    try {
      const content = await load();
      if (turn !== this.turn) return;
      this.content = content;
      this.fill();
      const isSeen = await this.isInPlace();
      if (turn === this.turn) this.state = isSeen ? "shown" : "unseen";
    } catch (error) {
      if (turn !== this.turn) return;
      this.state = error.status === 500 ? "unseen" : "lost"; // the server cannot; or: not now
      this.page.replaceChildren(
        h("p.note", t("document.lost")),
        button(t("again"), () => this.again()),
      );
    } finally {
      clearTimeout(patience);
      if (turn === this.turn) this.page.removeAttribute("aria-busy");
    }
  }

  // Somebody tries again; whoever waits for the document replaces this.
  onAgain(open) {
    open();
  }

  // Whether there is something to see: of pictures, the first one has come. One that did not come
  // for want of a network is not broken, and this throws.
  async isInPlace() {
    if (this.page.querySelector(".unseeable")) return false;
    const picture = this.page.querySelector(".photo, .leaf img");
    if (!picture) return true;
    if (!picture.complete) {
      await new Promise((done) => {
        picture.addEventListener("load", done);
        picture.addEventListener("error", done);
      });
    }
    if (picture.naturalWidth > 0) return true;
    const { ok, status } = await fetch(picture.src);
    if (!ok) throw Object.assign(new Error("no picture"), { status });
    return false;
  }

  fill() {
    const { kind, original, cut } = this.content;
    this.page.replaceChildren();
    this.page.scrollTop = 0; // measured while it is empty: a long document takes long
    this.root.dataset.kind = kind;
    this.originalButton.hidden = kind !== "text" || !original;
    this.findField.value = "";
    this.hits.textContent = "";
    const nodes = this.nodes();
    if (cut) nodes.unshift(h("p.note", t("document.cut")));
    this.page.replaceChildren(...nodes);
    if (canHighlight) CSS.highlights.delete(`terms-${this.name}`);
    this.findFirst();
    // The document first, its underlining when it has been painted.
    const { turn } = this;
    requestAnimationFrame(() => {
      setTimeout(() => {
        if (turn === this.turn) this.mark();
      });
    });
  }

  nodes() {
    const { kind, html, original, pages } = this.content;
    if (kind === "text") return [this.textOf(html)];
    if (kind === "image") return [this.image()];
    if (kind === "pages") {
      return pages.map((page, index) => sheetOf(original, page, index, pages.length));
    }
    return [h("p.note.unseeable", t("document.unseen"))];
  }

  textOf(html) {
    const text = h("div.text", { dir: "auto" });
    text.innerHTML = html; // made safe by the server: listed elements only
    splitIntoParcels(text);
    if (/\S/.test(text.textContent)) return text;
    const { original } = this.content;
    return original
      ? h("p.note", t("document.empty"))
      : h("p.note.unseeable", t("document.empty.all"));
  }

  image() {
    const { original, title } = this.content;
    const image = h("img.photo", { src: original, alt: title || t("image") });
    image.addEventListener("load", () => {
      image.style.setProperty("--natural", `${image.naturalWidth || 600}px`);
    });
    image.addEventListener("error", () => {
      this.page.replaceChildren(h("p.note.unseeable", t("document.unseen")));
    });
    return image;
  }

  toggleOriginal() {
    this.showsOriginal = !this.showsOriginal;
    this.originalButton.setAttribute("aria-pressed", String(this.showsOriginal));
    this.originalNote.hidden = !this.showsOriginal;
    if (!this.showsOriginal) {
      this.fill();
      this.page.focus();
      return;
    }
    const frame = h("iframe", {
      sandbox: "",
      src: this.content.original,
      title: t("original"),
      referrerpolicy: "no-referrer",
    });
    this.page.replaceChildren(frame);
  }

  rangesIn(pattern) {
    return pattern && !this.showsOriginal ? rangesOf(this.page, pattern) : [];
  }

  mark() {
    if (!canHighlight) return;
    const terms = preferences.marks ? termPattern(this.query) : null;
    const passage = this.passage ? passagePattern(this.passage) : null;
    highlight(`terms-${this.name}`, this.rangesIn(terms));
    highlight(`passage-${this.name}`, this.rangesIn(passage));
  }

  findFirst() {
    this.find(() => 0);
  }

  findNext() {
    this.find((n) => (this.hit + 1) % Math.max(1, n));
  }

  // `choose`: which of so many hits.
  find(choose) {
    const text = this.findField.value.trim();
    const ranges = this.rangesIn(text ? new RegExp(escaped(text), "giu") : null);
    const n = ranges.length;
    this.hit = choose(n);
    this.hits.textContent = text ? t("find.hits", { n, at: n ? this.hit + 1 : 0 }) : "";
    highlight(`found-${this.name}`, ranges);
    highlight(`here-${this.name}`, ranges.slice(this.hit, this.hit + 1));
    ranges[this.hit]?.startContainer.parentElement.scrollIntoView({ block: "center" });
  }

  focusFind() {
    if (this.showsOriginal) this.toggleOriginal();
    this.findField.focus();
  }

  zoom(step) {
    const stored = SIZES.indexOf(preferences.size);
    const index = (stored < 0 ? SIZES.indexOf(1) : stored) + step;
    preferences.size = SIZES[Math.min(SIZES.length - 1, Math.max(0, index))];
    store.put(STORED, preferences);
    this.page.style.setProperty("--reading", `${preferences.size * TEXT_SIZE}rem`);
    this.page.style.setProperty("--zoom", String(preferences.size));
  }
}

// Whether words of the request are underlined from now on.
export function toggleMarks() {
  preferences.marks = !preferences.marks;
  store.put(STORED, preferences);
  return preferences.marks;
}
