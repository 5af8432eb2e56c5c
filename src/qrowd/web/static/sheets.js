// Pages of a PDF document: a picture of each, and over it its text, unseen, so that it can be found,
// underlined, marked and read aloud. All sizes follow the page's width, so that zooming is only that.

import { h } from "./dom.js";
import { t } from "./texts.js";

const GRID = 10000; // places on a page, from 0 to this
const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "100px sans-serif";

export function sheet(address, [width, height, pieces], at, n) {
  const name = t("page", { at: at + 1, n });
  const image = h("img", {
    src: `${address}/${at + 1}`,
    width,
    height,
    alt: pieces.length ? "" : name,
    loading: at ? "lazy" : "eager",
    decoding: "async",
  });
  return h(
    "figure",
    { class: "leaf", "aria-label": name },
    image,
    h(
      "div",
      { class: "layer" },
      pieces.map((one) => piece(one, height / width)),
    ),
  );
}

function piece([left, top, wide, tall, text], shape) {
  const size = ((tall * shape) / GRID) * 100; // of the page's width
  const stretch = (wide * 100) / GRID / size / (ruler.measureText(text).width / 100 || 1);
  const made = h("span", { dir: "auto" }, `${text} `);
  made.style.left = `${(left * 100) / GRID}%`;
  made.style.top = `${(top * 100) / GRID}%`;
  made.style.fontSize = `${size}cqw`;
  made.style.transform = `scaleX(${stretch})`;
  return made;
}
