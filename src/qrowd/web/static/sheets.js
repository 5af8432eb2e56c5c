// Pages of a PDF document: a picture of each, and over it its text, unseen, so that it can be
// found, underlined, marked and read aloud. All sizes follow the page's width, for zooming.

import { h } from "./dom.js";
import { t } from "./texts.js";

const GRID = 10_000; // places on a page, from 0 to this
const RULER_SIZE = 100; // pixels
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = `${RULER_SIZE}px sans-serif`;

function percent(place) {
  return (place * 100) / GRID;
}

// `shape`: the page's height over its width.
function pieceOf([left, top, width, height, text], shape) {
  const size = percent(height) * shape; // of the page's width
  const naturalWidth = size * (ruler.measureText(text).width / RULER_SIZE || 1);
  const piece = h("span", { dir: "auto" }, `${text} `);
  piece.style.left = `${percent(left)}%`;
  piece.style.top = `${percent(top)}%`;
  piece.style.fontSize = `${size}cqw`;
  piece.style.transform = `scaleX(${percent(width) / naturalWidth})`;
  return piece;
}

export function sheetOf(address, [width, height, pieces], index, n) {
  const name = t("page", { at: index + 1, n });
  const image = h("img", {
    width,
    height,
    alt: pieces.length ? "" : name,
    loading: index ? "lazy" : "eager",
    decoding: "async",
  });
  const text = pieces.map((piece) => pieceOf(piece, height / width));
  const sheet = h("figure.leaf", { "aria-label": name }, image, h("div.layer", text));
  bring(image, `${address}/${index + 1}`, sheet);
  return sheet;
}

// Without a network the text shows, until the picture has come after all.
function bring(image, address, sheet) {
  const note = h("p.note", t("page.lost"));
  const again = () => image.isConnected && image.setAttribute("src", address);
  image.addEventListener("load", () => {
    sheet.classList.remove("lost");
    note.remove();
  });
  image.addEventListener("error", () => {
    sheet.classList.add("lost");
    sheet.before(note);
    addEventListener("online", again, { once: true });
  });
  image.src = address;
}
