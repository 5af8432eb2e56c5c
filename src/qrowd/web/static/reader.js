// The reader: a document made safe by the server, with query terms underlined, find and zoom.
// Highlights are drawn over the text (CSS custom highlights), so that the document stays as it is.

import { reading } from "./api.js";
import { button, h } from "./dom.js";
import { parcel } from "./parcels.js";
import { sheet } from "./sheets.js";
import * as store from "./store.js";
import { t } from "./texts.js";

const SIZES = [0.875, 1, 1.125, 1.25, 1.5, 1.75, 2];
const PREFS = "qrowd:reader";
const prefs = store.get(PREFS, { size: 1, marks: true });
const ready = new Map();
const canDraw = "highlights" in CSS;

// A document, fetched once; the next one is asked for before it is wanted.
export function fetched(key, position) {
  const name = `${key}/${position}`;
  if (!ready.has(name)) {
    const asked = reading(key, position).then((found) => {
      if (found.kind === "image") new Image().src = found.original;
      if (found.kind === "pages") new Image().src = `${found.original}/1`;
      return found;
    });
    asked.catch(() => ready.delete(name));
    ready.set(name, asked);
  }
  return ready.get(name);
}

function ranges(root, pattern) {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && found.length < 2000; node = walker.nextNode()) {
    for (const match of node.data.matchAll(pattern)) {
      // live ranges would make every later change of the page slow
      found.push(
        new StaticRange({
          startContainer: node,
          startOffset: match.index,
          endContainer: node,
          endOffset: match.index + match[0].length,
        }),
      );
    }
  }
  return found;
}

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

// Words of the query, with their endings; signs of languages without spaces as they stand.
function termPattern(query) {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])];
  const spaceless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
  const parts = words
    .filter((word) => word.length > 2 || spaceless.test(word))
    .map((word) =>
      spaceless.test(word)
        ? escaped(word)
        : `(?<![\\p{L}\\p{N}])${escaped(word.replace(/(?<=.{3})(es|s|ing|ed)$/u, ""))}\\p{L}{0,3}(?![\\p{L}\\p{N}])`,
    );
  return parts.length ? new RegExp(parts.join("|"), "giu") : null;
}

// A passage, line by line: one that was marked over several elements is found in each.
function passagePattern(passage) {
  const lines = passage
    .split(/\n+/)
    .map((line) => line.trim())
    .filter(Boolean);
  return lines.length
    ? new RegExp(lines.map((line) => escaped(line).replace(/\s+/g, "\\s+")).join("|"), "gu")
    : null;
}

export class Reader {
  constructor(name = "reader") {
    this.name = name;
    this.title = h("h2", { class: "doc-title", id: `${name}-title` });
    this.page = h("article", { class: "page", tabindex: 0, "aria-labelledby": `${name}-title` });
    this.input = h("input", {
      type: "search",
      id: `${name}-find`,
      placeholder: t("find"),
      "aria-label": t("find.words"),
      size: 10,
    });
    this.hits = h("span", { class: "quiet hits", role: "status" });
    this.original = button(t("original"), () => this.toggle(), {
      class: "small",
      "aria-pressed": "false",
    });
    this.input.addEventListener("input", () => this.find(true));
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.find(false);
      if (event.key === "Escape") {
        this.input.value = "";
        this.find(true);
        this.page.focus();
      }
    });
    this.frameNote = h(
      "p",
      { class: "frame-note", hidden: true },
      t("original.words"),
      " ",
      button(t("original.back"), () => this.toggle(), { class: "small" }),
    );
    this.tools = h(
      "div",
      { class: "tools" },
      this.hits,
      this.input,
      button("A−", () => this.zoom(-1), { class: "small", "aria-label": t("zoom.out") }),
      button("A+", () => this.zoom(1), { class: "small", "aria-label": t("zoom.in") }),
      this.original,
    );
    this.root = h(
      "section",
      { class: "reader", "aria-label": t("document") },
      h("div", { class: "reader-top" }, this.title, this.tools),
      this.frameNote,
      this.page,
    );
    document.addEventListener("selectionchange", () => this.page.isConnected && this.remember());
    this.zoom(0);
  }

  async open(set, shown, passage = "") {
    const turn = (this.turn = Symbol("turn"));
    this.passage = passage;
    this.chosen = "";
    this.found = null;
    this.framed = false;
    this.query = set.topic.query;
    this.title.textContent = shown.title || t("untitled");
    this.page.setAttribute("aria-busy", "true");
    this.original.hidden = true;
    this.frameNote.hidden = true;
    this.page.lang = set.topic.language || "";
    const slow = setTimeout(
      () =>
        turn === this.turn && this.page.replaceChildren(h("p", { class: "quiet" }, t("loading"))),
      300,
    );
    try {
      const found = await fetched(set.key, shown.position);
      if (turn !== this.turn) return;
      this.found = found;
      this.fill();
    } catch {
      if (turn !== this.turn) return;
      this.page.replaceChildren(
        h("p", { class: "note" }, t("document.lost")),
        button(t("again"), () => this.open(set, shown, passage)),
      );
    } finally {
      clearTimeout(slow);
      if (turn === this.turn) this.page.removeAttribute("aria-busy");
    }
  }

  fill() {
    const { kind, html, original, cut } = this.found;
    this.page.replaceChildren();
    this.page.scrollTop = 0; // measured while it is empty: a long document takes long
    this.root.dataset.kind = kind;
    this.original.hidden = kind !== "text" || !original;
    this.input.value = "";
    this.hits.textContent = "";
    const shown = {
      text: () => this.text(html),
      image: () => this.image(),
      pages: () => this.sheets(),
    }[kind]?.() ?? [h("p", { class: "note" }, t("document.unseen"))];
    this.page.replaceChildren(
      ...(cut ? [h("p", { class: "note" }, t("document.cut"))] : []),
      ...shown,
    );
    if (canDraw) CSS.highlights.delete(`terms-${this.name}`);
    this.find(true);
    const { turn } = this; // the document first, its underlining when it has been painted
    requestAnimationFrame(() => setTimeout(() => turn === this.turn && this.mark()));
  }

  text(html) {
    const made = h("div", { class: "text", dir: "auto" });
    made.innerHTML = html; // made safe by the server: listed elements only
    parcel(made);
    return /\S/.test(made.textContent) ? [made] : [h("p", { class: "note" }, t("document.empty"))];
  }

  image() {
    const { original, title } = this.found;
    const made = h("img", { class: "photo", src: original, alt: title || t("image") });
    made.addEventListener("load", () =>
      made.style.setProperty("--natural", `${made.naturalWidth || 600}px`),
    );
    made.addEventListener("error", () =>
      this.page.replaceChildren(h("p", { class: "note" }, t("document.unseen"))),
    );
    return [made];
  }

  sheets() {
    const { original, pages } = this.found;
    return pages.map((one, at) => sheet(original, one, at, pages.length));
  }

  toggle() {
    this.framed = !this.framed;
    this.original.setAttribute("aria-pressed", String(this.framed));
    this.frameNote.hidden = !this.framed;
    if (!this.framed) {
      this.fill();
      this.page.focus();
      return;
    }
    const frame = h("iframe", {
      sandbox: "",
      src: this.found.original,
      title: t("original"),
      referrerpolicy: "no-referrer",
    });
    this.page.replaceChildren(frame);
  }

  mark() {
    if (!canDraw) return;
    const pattern = prefs.marks && !this.framed ? termPattern(this.query) : null;
    CSS.highlights.set(
      `terms-${this.name}`,
      new Highlight(...(pattern ? ranges(this.page, pattern) : [])),
    );
    const passage = this.passage && !this.framed ? passagePattern(this.passage) : null;
    CSS.highlights.set(
      `passage-${this.name}`,
      new Highlight(...(passage ? ranges(this.page, passage) : [])),
    );
  }

  find(first) {
    const text = this.input.value.trim();
    const all = text && !this.framed ? ranges(this.page, new RegExp(escaped(text), "giu")) : [];
    this.hit = first ? 0 : (this.hit + 1) % Math.max(1, all.length);
    this.hits.textContent = text
      ? t("find.hits", { n: all.length, at: all.length ? this.hit + 1 : 0 })
      : "";
    if (canDraw) {
      CSS.highlights.set(`found-${this.name}`, new Highlight(...all));
      CSS.highlights.set(`here-${this.name}`, new Highlight(...all.slice(this.hit, this.hit + 1)));
    }
    all[this.hit]?.startContainer.parentElement.scrollIntoView({ block: "center" });
  }

  zoom(step) {
    const at = SIZES.indexOf(prefs.size) < 0 ? 1 : SIZES.indexOf(prefs.size);
    prefs.size = SIZES[Math.min(SIZES.length - 1, Math.max(0, at + step))];
    store.put(PREFS, prefs);
    this.page.style.setProperty("--reading", `${prefs.size * 1.0625}rem`);
    this.page.style.setProperty("--zoom", String(prefs.size));
  }

  // The text that was last marked in this document: a tap on a grade takes the mark away on phones.
  selected() {
    return this.chosen;
  }

  remember() {
    const chosen = getSelection();
    const text = chosen && this.page.contains(chosen.anchorNode) ? chosen.toString().trim() : "";
    if (text) this.chosen = text;
  }
}

// Whether words of the request are underlined from now on.
export function toggleMarks() {
  prefs.marks = !prefs.marks;
  store.put(PREFS, prefs);
  return prefs.marks;
}

export function focusFind(reader) {
  if (reader.framed) reader.toggle();
  reader.input.focus();
}
