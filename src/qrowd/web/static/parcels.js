// A long document in parcels: browsers lay out only those in view, so that it stands at once.

import { h } from "./dom.js";

const BLOCKS = new Set(
  "ADDRESS ARTICLE ASIDE BLOCKQUOTE CENTER DIV DL FIGURE FOOTER H3 H4 H5 H6 HEADER HR MAIN OL P PRE SECTION TABLE UL".split(
    " ",
  ),
);
const WRAPPERS = new Set(["ARTICLE", "CENTER", "DIV", "MAIN", "SECTION"]);
const MANY = 60;
const EACH = 20;
const LINE = 70; // characters, about

function blocksOnly(nodes) {
  return nodes.every((node) =>
    node.nodeType === Node.TEXT_NODE ? !node.data.trim() : BLOCKS.has(node.tagName),
  );
}

export function parcel(root) {
  let inner = root;
  while (inner.childElementCount === 1 && WRAPPERS.has(inner.firstElementChild.tagName))
    inner = inner.firstElementChild;
  const nodes = [...inner.childNodes];
  if (nodes.length < MANY || !blocksOnly(nodes)) return;
  const parts = Array.from({ length: Math.ceil(nodes.length / EACH) }, (_, at) =>
    h("div", { class: "parcel" }, nodes.slice(at * EACH, (at + 1) * EACH)),
  );
  for (const part of parts) {
    const lines = part.textContent.length / LINE + part.childElementCount;
    part.style.containIntrinsicSize = `auto ${Math.round(lines * 1.65)}em`;
  }
  inner.replaceChildren(...parts);
}
