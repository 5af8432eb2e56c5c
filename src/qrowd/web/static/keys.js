// Keys: what each does can be changed, and all can be switched off. Fields and dialogs keep theirs.

import { button, closeDialog, h, mainButton, openDialog } from "./dom.js";
import * as store from "./store.js";
import { about, label, t } from "./texts.js";

const STORED = "qrowd:keys";
const COMMANDS = {
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
const ANSWERS = answerKeys();
const DEFAULTS = { ...COMMANDS, ...ANSWERS };
const SYMBOLS = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };
const TYPED_INTO = "input, textarea, select, dialog, [contenteditable]";
let settings = store.get(STORED, { on: true, chosen: {} });
let actions = {};

// A grade's own digit where every grade has one, else its place on the scale.
function answerKeys() {
  if (about.way === "preferences") return { "pair.left": "1", "pair.same": "0", "pair.right": "2" };
  const areDigits = about.grades.every((grade) => grade >= 0 && grade <= 9);
  return Object.fromEntries(
    about.grades.map((grade, index) => [`grade${index}`, String(areDigits ? grade : index)]),
  );
}

export function keyOf(name) {
  return settings.chosen[name] ?? DEFAULTS[name];
}

// The key as it is printed on a button; nothing where keys are switched off.
export function printedKey(name) {
  if (!settings.on) return "";
  const key = keyOf(name);
  return SYMBOLS[key] ?? key.toUpperCase();
}

function nameOfKey(key, names = Object.keys(DEFAULTS)) {
  return names.find((name) => keyOf(name).toLowerCase() === key.toLowerCase());
}

export function listen(byName) {
  actions = byName;
}

addEventListener("keydown", (event) => {
  const isShortcut = event.ctrlKey || event.altKey || event.metaKey;
  const isTaken = event.isComposing || event.defaultPrevented || event.repeat;
  if (!settings.on || isShortcut || isTaken || event.target.closest?.(TYPED_INTO)) return;
  const action = actions[nameOfKey(event.key)];
  if (!action) return;
  event.preventDefault();
  action();
});

function describe(name) {
  if (name.startsWith("pair.")) return t(name);
  if (name.startsWith("grade")) return label(about.grades[Number(name.slice("grade".length))]);
  return t(`key.${name}`);
}

function keyField(name, problem) {
  const id = `key-${name}`;
  const input = h("input", { id, size: 9, autocomplete: "off", value: keyOf(name) });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Tab" || event.key === "Escape") return;
    event.preventDefault();
    const others = Object.keys(DEFAULTS).filter((other) => other !== name);
    const taken = nameOfKey(event.key, others);
    problem.hidden = !taken;
    if (taken) {
      problem.textContent = t("keys.taken", { key: event.key, name: describe(taken) });
      return;
    }
    settings.chosen[name] = event.key;
    input.value = event.key;
    store.put(STORED, settings);
  });
  return h("div.line", h("label", { for: id }, describe(name)), input);
}

function switchField() {
  const input = h("input", { type: "checkbox", id: "keys-on", checked: settings.on });
  input.addEventListener("change", () => {
    settings.on = input.checked;
    store.put(STORED, settings);
  });
  return h("div.line", h("label", { for: "keys-on" }, t("keys.on")), input);
}

// The list of keys, where they can be changed; `onClose` is called afterwards.
export function openKeys(onClose) {
  const problem = h("p.note", { role: "alert", hidden: true });
  const names = [...Object.keys(ANSWERS), ...Object.keys(COMMANDS)];
  const close = mainButton(t("close"), () => closeDialog(dialog));
  const reset = button(t("keys.reset"), () => {
    settings = { on: true, chosen: {} };
    store.put(STORED, settings);
    closeDialog(dialog);
  });
  const dialog = h(
    "dialog",
    { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, t("keys.title")),
    h("p", t("keys.words")),
    switchField(),
    h(
      "div.lines",
      names.map((name) => keyField(name, problem)),
    ),
    problem,
    h("div.actions", close, reset),
  );
  openDialog(dialog, onClose);
}
