// A long document in parcels: browsers lay out only those in view, so that it stands at once.

import { h } from "./dom.js";

const WRAPPERS = new Set(["ARTICLE", "CENTER", "DIV", "MAIN", "SECTION"]);
const BLOCKS = new Set([
  ...WRAPPERS,
  ..."ADDRESS ASIDE BLOCKQUOTE DL FIGURE FOOTER H3 H4 H5 H6 HEADER HR OL P PRE TABLE UL".split(" "),
]);
const FEW = 60; // blocks: a document with fewer stays whole
const PER_PARCEL = 20;
const LINE_LENGTH = 70; // characters, about
const LINE_HEIGHT = 1.65; // em, as in the style sheet

function isBlock(node) {
  if (node.nodeType === Node.TEXT_NODE) return !node.data.trim();
  return BLOCKS.has(node.tagName);
}

function parcelOf(nodes) {
  const parcel = h("div.parcel", nodes);
  const lines = parcel.textContent.length / LINE_LENGTH + parcel.childElementCount;
  parcel.style.containIntrinsicSize = `auto ${Math.round(lines * LINE_HEIGHT)}em`;
  return parcel;
}

export function splitIntoParcels(root) {
  let inner = root;
  while (inner.childElementCount === 1 && WRAPPERS.has(inner.firstElementChild.tagName)) {
    inner = inner.firstElementChild;
  }
  const nodes = [...inner.childNodes];
  if (nodes.length < FEW || !nodes.every(isBlock)) return;
  const parcels = [];
  for (let start = 0; start < nodes.length; start += PER_PARCEL) {
    parcels.push(parcelOf(nodes.slice(start, start + PER_PARCEL)));
  }
  inner.replaceChildren(...parcels);
}
