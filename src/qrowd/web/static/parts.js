// Parts of the judging page: the topic, reasons, questions, two documents side by side.

import { call } from "./api.js";
import { button, closeDialog, h, openDialog, prose } from "./dom.js";
import { Reader } from "./reader.js";
import { about, label, problem, t } from "./texts.js";

// Folded to one line on a phone, open elsewhere.
export function topicOf(topic) {
  const wide = matchMedia("(min-width: 56rem)").matches;
  const examples = about.examples.length
    ? h(
        "details",
        { class: "examples" },
        h("summary", {}, t("examples")),
        about.examples.flatMap(prose),
      )
    : null;
  return h(
    "details",
    { class: "fold", open: wide },
    h(
      "summary",
      {},
      h("h1", { class: "query", dir: "auto", lang: topic.language || null }, topic.query),
    ),
    h(
      "div",
      { class: "topic-text", dir: "auto", lang: topic.language || null },
      topic.category ? h("p", { class: "mark" }, topic.category) : null,
      prose(topic.description),
      prose(topic.narrative),
    ),
    about.instructions
      ? h(
          "details",
          { class: "examples" },
          h("summary", {}, t("instructions")),
          prose(about.instructions),
        )
      : null,
    examples,
  );
}

// What somebody who judges a whole topic has said so far, the last first.
export function earlierOf(sets, topic, said) {
  const rows = sets
    .filter((set) => set.topic.query === topic.query)
    .flatMap((set) =>
      set.documents.map((shown) => [shown.title, said.get(`${set.key}/${shown.position}`)]),
    )
    .filter(([, one]) => one?.kind === "grade")
    .reverse();
  return h(
    "details",
    { class: "examples earlier", open: matchMedia("(min-width: 56rem)").matches },
    h("summary", {}, t("own.earlier", { n: rows.length })),
    h(
      "ul",
      {},
      rows.map(([title, one]) => h("li", { dir: "auto" }, `${title}: ${label(one.grade)}`)),
    ),
  );
}

// A reason, a marked passage, or either, with a grade.
export function askReason(reader, grade, done) {
  const asked = about.justification;
  const passage = h("textarea", { id: "passage", rows: 3 });
  passage.value = reader.selected();
  const reason = h("textarea", { id: "reason", rows: 3 });
  const save = h("button", { type: "submit", class: "main" }, t("save"));
  const form = h(
    "form",
    { method: "dialog" },
    h("h2", { id: "why" }, t("reason.title", { grade })),
    h("p", {}, t(`reason.${asked}`)),
    asked === "passage" ? null : h("label", { for: "reason" }, t("reason.label")),
    asked === "passage" ? null : reason,
    asked === "reason" ? null : h("label", { for: "passage" }, t("passage.label")),
    asked === "reason" ? null : passage,
    h(
      "div",
      { class: "actions" },
      save,
      button(t("cancel"), () => closeDialog(made)),
    ),
  );
  const made = h("dialog", { "aria-labelledby": "why" }, form);
  const enough = () =>
    ({
      reason: reason.value.trim(),
      passage: passage.value.trim(),
      either: reason.value.trim() + passage.value.trim(),
    })[asked] !== "";
  form.addEventListener("input", () => {
    save.disabled = !enough();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!enough()) return;
    closeDialog(made);
    done({ reason: reason.value.trim(), passage: passage.value.trim() });
  });
  save.disabled = !enough();
  openDialog(made);
}

// Questions on a topic, before its documents are judged.
export function askQuestions(set, done) {
  const wrong = h("p", { class: "note", role: "alert", hidden: true });
  const form = h(
    "form",
    { class: "questions" },
    h("h2", {}, t("questions.title")),
    h("p", {}, t("questions.words")),
    set.questions.map((one) =>
      h(
        "fieldset",
        {},
        h("legend", {}, one.text),
        one.choices.map((choice, at) =>
          h(
            "label",
            { class: "choice" },
            h("input", { type: "radio", name: `q${one.number}`, value: at, required: true }),
            choice,
          ),
        ),
      ),
    ),
    wrong,
    h("div", { class: "actions" }, h("button", { type: "submit", class: "main" }, t("continue"))),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const answers = Object.fromEntries(
      set.questions.map((one) => [one.number, Number(given.get(`q${one.number}`))]),
    );
    try {
      done((await call("POST", "/questions", { answers })).passed);
    } catch (error) {
      wrong.hidden = false;
      wrong.textContent = problem(error);
    }
  });
  return form;
}

// Two documents side by side; below one another on a phone.
export function sidesOf(set) {
  const readers = ["left", "right"].map((name) => new Reader(name));
  readers.forEach((reader, at) =>
    reader.open(set, {
      ...set.documents[at],
      title: `${at + 1} · ${set.documents[at].title || t("untitled")}`,
    }),
  );
  return {
    readers,
    root: h(
      "div",
      { class: "sides" },
      readers.map((reader) => reader.root),
    ),
  };
}
