// Elements without HTML text: nothing here can be mistaken for markup.

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== false));
  return made;
}

export function button(text, act, attributes = {}) {
  return h("button", { type: "button", onclick: act, ...attributes }, text);
}

// Text of several paragraphs, as people typed it.
export function prose(text) {
  return text.split(/\n\s*\n/).filter((part) => part.trim()).map((part) => h("p", { class: "words" }, part.trim()));
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
