// Elements without HTML text: nothing here can be mistaken for markup.

function isMissing(value) {
  return value === false || value === null || value === undefined;
}

// h("p.note", { role: "alert" }, "text", elements): attributes are optional; what is missing among
// attributes and children is left out.
export function h(selector, ...content) {
  const [tag, ...classes] = selector.split(".");
  const attributes = content[0]?.constructor === Object ? content.shift() : {};
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) {
    if (isMissing(value)) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...content.flat().filter((child) => !isMissing(child)));
  return element;
}

// A second press while the first is still being answered does nothing.
export function button(text, act, attributes = {}) {
  let busy = false;
  const onclick = async (event) => {
    if (busy) return;
    busy = true;
    try {
      await act(event);
    } finally {
      busy = false;
    }
  };
  return h("button", { type: "button", onclick, ...attributes }, text);
}

// The second click of a double one would fall on what nobody has seen yet. Fingers are let through:
// two taps that are near one another are counted, too, whatever they are on.
export function ignoreDoubleClicks(root, selector) {
  const ignore = (event) => {
    const isDouble = event.detail > 1 && event.pointerType !== "touch";
    if (!isDouble || !event.target.closest(selector)) return;
    event.preventDefault();
    event.stopPropagation();
  };
  root.addEventListener("click", ignore, true);
}

export function mainButton(text, act) {
  return button(text, act, { class: "main" });
}

// Text of several paragraphs, as people typed it.
export function prose(text) {
  return text
    .split(/\n\s*\n/)
    .filter((paragraph) => paragraph.trim())
    .map((paragraph) => h("p.words", paragraph.trim()));
}

// A dialog over the page; `onClose` is called once it is closed, also by Escape.
export function openDialog(dialog, onClose = () => {}) {
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose();
  });
  // Escape
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    closeDialog(dialog);
  });
  document.body.append(dialog);
  dialog.showModal();
}

// Gone at once: one that is only closed keeps the focus until the next frame, and takes the keys
// until then.
export function closeDialog(dialog) {
  dialog.close();
  dialog.remove();
}

export function show(...nodes) {
  const main = document.getElementById("main");
  main.replaceChildren(...nodes.flat().filter(Boolean));
  main.className = "column";
  scrollTo(0, 0);
  const heading = main.querySelector("h1");
  if (heading) {
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }
}

// For people who listen instead of looking.
export function announce(text) {
  document.getElementById("live").textContent = text;
}
