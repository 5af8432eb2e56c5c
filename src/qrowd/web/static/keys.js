// Keys: what each does can be changed, and all can be switched off. Fields and dialogs keep theirs.

import { button, closeDialog, h, mainButton, openDialog } from "./dom.js";
import * as store from "./store.js";
import { t } from "./texts.js";

const STORED = "qrowd:keys";
const COMMANDS = {
  undo: "u",
  back: "ArrowLeft",
  forward: "ArrowRight",
  highlights: "h",
  find: "/",
  cannot: "x",
  broken: "b",
  help: "?",
};
const SYMBOLS = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Enter: "↵",
};
const TYPED_INTO = 'input:not([type="range"]), textarea, select, dialog, [contenteditable]';
const PRESSED = "a, button, summary"; // by Enter and the space bar
let settings = store.get(STORED, { on: true, chosen: {} });
let answers = {};
let commands = Object.keys(COMMANDS);
let actions = {};

// The keys of the way of judging: { name: { key, text } }, and which commands there are beside.
export function define(keysOfWay, names = commands) {
  answers = keysOfWay;
  commands = names;
}

function answerKey(name) {
  return settings.chosen[name] ?? answers[name].key;
}

// A key that was chosen for a command in another campaign may be an answer's in this one, and so
// may its usual key: then it has none.
function keyOf(name) {
  if (!(name in COMMANDS)) return answerKey(name);
  const taken = new Set(Object.keys(answers).map(answerKey));
  const keys = [settings.chosen[name], COMMANDS[name]];
  return keys.find((key) => key && !taken.has(key)) ?? "";
}

function allNames() {
  return [...Object.keys(answers), ...commands];
}

// The key as it is printed on a button; nothing where keys are switched off.
function printedKey(name) {
  if (!settings.on) return "";
  const key = keyOf(name);
  return SYMBOLS[key] ?? key.toUpperCase();
}

function printed(name) {
  const key = printedKey(name);
  return key ? h("kbd", { "aria-hidden": "true" }, key) : null;
}

// A button that shows its key.
export function keyButton(name, text, onclick, attributes) {
  return h(
    "button",
    {
      type: "button",
      onclick,
      "aria-label": text,
      "aria-keyshortcuts": printedKey(name) ? keyOf(name) : null,
      ...attributes,
    },
    printed(name),
    h("span", text),
  );
}

// A button of the server's shows its key, too.
export function showKey(element, name) {
  element.querySelector("kbd")?.remove();
  const key = printed(name);
  if (!key) {
    element.removeAttribute("aria-keyshortcuts");
    return;
  }
  element.setAttribute("aria-keyshortcuts", keyOf(name));
  element.prepend(key);
}

function nameOfKey(key, names = allNames()) {
  return names.find((name) => keyOf(name).toLowerCase() === key.toLowerCase());
}

export function listen(byName) {
  actions = byName;
}

function isTaken(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return true;
  if (event.isComposing || event.defaultPrevented || event.repeat) return true;
  const isPress = event.key === "Enter" || event.key === " ";
  return Boolean(event.target.closest?.(isPress ? `${PRESSED}, ${TYPED_INTO}` : TYPED_INTO));
}

addEventListener("keydown", (event) => {
  if (!settings.on || isTaken(event)) return;
  const action = actions[nameOfKey(event.key)];
  if (!action) return;
  event.preventDefault();
  action();
});

function describe(name) {
  return answers[name]?.text ?? t(`key.${name}`);
}

function keyField(name, problem) {
  const id = `key-${name}`;
  const input = h("input", { id, size: 9, autocomplete: "off", value: keyOf(name) });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Tab" || event.key === "Escape") return;
    event.preventDefault();
    const others = allNames().filter((other) => other !== name);
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
      allNames().map((name) => keyField(name, problem)),
    ),
    problem,
    h("div.actions", close, reset),
  );
  openDialog(dialog, onClose);
}
