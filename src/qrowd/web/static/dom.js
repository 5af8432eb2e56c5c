// Elements without HTML text: nothing here can be mistaken for markup.

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(
    ...children.flat().filter((one) => one !== null && one !== undefined && one !== false),
  );
  return made;
}

// A second press while the first is still being answered does nothing.
export function button(text, act, attributes = {}) {
  let busy = false;
  const once = async (event) => {
    if (busy) return;
    busy = true;
    try {
      await act(event);
    } finally {
      busy = false;
    }
  };
  return h("button", { type: "button", onclick: once, ...attributes }, text);
}

// Text of several paragraphs, as people typed it.
export function prose(text) {
  return text
    .split(/\n\s*\n/)
    .filter((part) => part.trim())
    .map((part) => h("p", { class: "words" }, part.trim()));
}

// A dialog over the page; `closed` is called once it is closed, also by Escape.
export function openDialog(made, closed = () => {}) {
  made.addEventListener("close", () => {
    made.remove();
    closed();
  });
  made.addEventListener("cancel", (event) => {
    // Escape
    event.preventDefault();
    closeDialog(made);
  });
  document.body.append(made);
  made.showModal();
}

// Closed and gone at once: one that is only closed keeps the focus until the next frame, and takes the keys until then.
export function closeDialog(made) {
  made.close();
  made.remove();
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
  return main;
}

export function say(text) {
  document.getElementById("live").textContent = text;
}
