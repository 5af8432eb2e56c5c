// Parts of the judging page: the topic, earlier answers, reasons, questions.

import { call } from "./api.js";
import { button, closeDialog, h, openDialog, prose } from "./dom.js";
import { about, problem, t } from "./texts.js";

export const MOST_WORDS = 10_000; // characters of a text that the server takes

// Where the topic stands beside the document, as in the style sheet; and where there is room for
// all of it above the document.
const wide = matchMedia("(min-width: 56rem)");
const roomy = matchMedia("(min-width: 56rem), (min-width: 40rem) and (min-height: 40rem)");

export function isWide() {
  return wide.matches;
}

// A tablet that is turned keeps the topic in sight; beside the document it cannot be folded.
roomy.addEventListener("change", unfold);
wide.addEventListener("change", unfold);

function unfold() {
  for (const topic of document.querySelectorAll("details.fold")) topic.open = roomy.matches;
}

function fold(title, content) {
  return h("details.examples", h("summary", title), content);
}

function writtenIn(topic) {
  return { dir: "auto", lang: topic.language || null };
}

// What a topic says beside its query.
export function topicText(topic) {
  return h(
    "div.topic-text",
    writtenIn(topic),
    topic.category ? h("p.mark", topic.category) : null,
    prose(topic.description),
    prose(topic.narrative),
  );
}

// Folded to one line on a phone, open elsewhere.
export function topicOf(topic) {
  const { instructions, examples } = about;
  return h(
    "details.fold",
    { open: roomy.matches },
    h("summary", h("h1.query", writtenIn(topic), topic.query)),
    topicText(topic),
    instructions ? fold(t("instructions"), prose(instructions)) : null,
    examples.length ? fold(t("examples"), examples.flatMap(prose)) : null,
  );
}

// What somebody who judges a whole topic has said so far, the last first. `wordsFor` has words for
// the answer to a document, or none.
export function earlierOf(sets, topic, wordsFor) {
  const items = sets
    .filter((set) => set.topic.query === topic.query)
    .flatMap((set) =>
      set.documents.map(({ title, position }) => ({ title, words: wordsFor(set, position) })),
    )
    .filter(({ words }) => words)
    .map(({ title, words }) => h("li", { dir: "auto" }, `${title}: ${words}`))
    .reverse();
  return h(
    "details.examples.earlier",
    { open: isWide() },
    h("summary", t("own.earlier", { n: items.length })),
    h("ul", items),
  );
}

// A reason, a marked passage, or either, with what is said of a document.
export function askReason(reader, grade, onSave) {
  const wanted = about.justification;
  const reason = h("textarea", { id: "reason", rows: 3, maxlength: MOST_WORDS });
  const passage = h("textarea", { id: "passage", rows: 3, maxlength: MOST_WORDS });
  passage.value = reader.selection.slice(0, MOST_WORDS).replace(/[\ud800-\udbff]$/, "");
  const save = h("button.main", { type: "submit" }, t("save"));
  const cancel = button(t("cancel"), () => closeDialog(dialog));
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "why" }, t("reason.title", { grade })),
    h("p", t(`reason.${wanted}`)),
    wanted === "passage" ? null : [h("label", { for: "reason" }, t("reason.label")), reason],
    wanted === "reason" ? null : [h("label", { for: "passage" }, t("passage.label")), passage],
    h("div.actions", save, cancel),
  );
  const dialog = h("dialog", { "aria-labelledby": "why" }, form);

  function isEnough() {
    const texts = { reason: [reason], passage: [passage], either: [reason, passage] };
    return texts[wanted].some((field) => field.value.trim());
  }
  form.addEventListener("input", () => {
    save.disabled = !isEnough();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!isEnough()) return;
    closeDialog(dialog);
    onSave({ reason: reason.value.trim(), passage: passage.value.trim() });
  });
  save.disabled = !isEnough();
  openDialog(dialog);
}

function questionField(question) {
  const name = `q${question.number}`;
  const choices = question.choices.map((choice, index) =>
    h("label.choice", h("input", { type: "radio", name, value: index, required: true }), choice),
  );
  return h("fieldset", h("legend", question.text), choices);
}

// Questions on a topic, before its documents are judged.
export function askQuestions(set, onAnswer) {
  const trouble = h("p.note", { role: "alert", hidden: true });
  const form = h(
    "form.questions",
    h("h2", t("questions.title")),
    h("p", t("questions.words")),
    set.questions.map(questionField),
    trouble,
    h("div.actions", h("button.main", { type: "submit" }, t("continue"))),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const answers = Object.fromEntries(
      set.questions.map(({ number }) => [number, Number(fields.get(`q${number}`))]),
    );
    try {
      const { passed } = await call("POST", "/questions", { answers });
      onAnswer(passed);
    } catch (error) {
      trouble.hidden = false;
      trouble.textContent = problem(error);
    }
  });
  return form;
}
