// Keys: what each does can be changed, and all can be switched off. Fields and dialogs keep theirs.

import { about, label, t } from "./texts.js";
import { button, closeDialog, h, openDialog } from "./dom.js";
import * as store from "./store.js";

const KEPT = "qrowd:keys";
const DEFAULTS = {
  undo: "u",
  back: "ArrowLeft",
  forward: "ArrowRight",
  highlights: "h",
  find: "/",
  board: "r",
  cannot: "x",
  broken: "b",
  help: "?",
};
if (about.way === "preferences")
  Object.assign(DEFAULTS, { "pair.left": "1", "pair.same": "0", "pair.right": "2" });
else
  about.grades.forEach((grade, at) => {
    DEFAULTS[`grade${at}`] = String(about.grades.every((one) => one >= 0 && one <= 9) ? grade : at);
  });
let kept = store.get(KEPT, { on: true, chosen: {} });
let acts = {};

export function keyOf(name) {
  return kept.chosen[name] ?? DEFAULTS[name];
}

// The key as it is printed on a button; nothing where keys are switched off.
export function shown(name) {
  if (!kept.on) return "";
  const key = keyOf(name);
  return (
    { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" }[key] ?? key.toUpperCase()
  );
}

export function listen(named) {
  acts = named;
}

addEventListener("keydown", (event) => {
  if (
    !kept.on ||
    event.ctrlKey ||
    event.altKey ||
    event.metaKey ||
    event.isComposing ||
    event.defaultPrevented
  )
    return;
  if (event.target.closest?.("input, textarea, select, dialog, [contenteditable]") || event.repeat)
    return;
  const name = Object.keys(DEFAULTS).find(
    (one) => keyOf(one).toLowerCase() === event.key.toLowerCase(),
  );
  if (!name || !acts[name]) return;
  event.preventDefault();
  acts[name]();
});

function nameOf(name) {
  if (name.startsWith("pair.")) return t(name);
  return name.startsWith("grade") ? label(about.grades[Number(name.slice(5))]) : t(`key.${name}`);
}

// The list of keys, where they can be changed; `changed` is called afterwards.
export function dialog(changed) {
  const problem = h("p", { class: "note", role: "alert", hidden: true });
  const field = (name) => {
    const input = h("input", {
      id: `key-${name}`,
      size: 9,
      autocomplete: "off",
      value: keyOf(name),
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Tab" || event.key === "Escape") return;
      event.preventDefault();
      const taken = Object.keys(DEFAULTS).find(
        (one) => one !== name && keyOf(one).toLowerCase() === event.key.toLowerCase(),
      );
      problem.hidden = !taken;
      if (taken) problem.textContent = t("keys.taken", { key: event.key, name: nameOf(taken) });
      else {
        kept.chosen[name] = event.key;
        input.value = event.key;
        store.put(KEPT, kept);
      }
    });
    return h("div", { class: "line" }, h("label", { for: `key-${name}` }, nameOf(name)), input);
  };
  const on = h("input", { type: "checkbox", id: "keys-on", checked: kept.on });
  on.addEventListener("change", () => {
    kept.on = on.checked;
    store.put(KEPT, kept);
  });
  const names = Object.keys(DEFAULTS).sort(
    (one, two) => /^(grade|pair)/.test(two) - /^(grade|pair)/.test(one),
  );
  const made = h(
    "dialog",
    { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, t("keys.title")),
    h("p", {}, t("keys.words")),
    h("div", { class: "line" }, h("label", { for: "keys-on" }, t("keys.on")), on),
    h("div", { class: "lines" }, names.map(field)),
    problem,
    h(
      "div",
      { class: "actions" },
      button(t("close"), () => closeDialog(made), { class: "main" }),
      button(t("keys.reset"), () => {
        kept = { on: true, chosen: {} };
        store.put(KEPT, kept);
        closeDialog(made);
      }),
    ),
  );
  openDialog(made, changed);
}
