// An expert's case: the workers' reader, keys on the server's buttons, and the next case in the
// place of this one. What is shown and what is asked is the server's.

import { read } from "./api.js";
import { announce, ignoreDoubleClicks } from "./dom.js";
import * as keys from "./keys.js";
import { fetchOnce, Reader, toggleMarks } from "./reader.js";
import { t } from "./texts.js";
import { localise } from "./times.js";

const COMMANDS = ["highlights", "find", "help"];
const main = document.getElementById("main");
const reader = new Reader();
let isBusy = false;

function documentAt({ reading, title, query, language }) {
  return {
    topic: { query, language },
    title,
    load: () => fetchOnce(reading, () => read(reading)),
  };
}

function keyed() {
  return [...main.querySelectorAll("[data-key]")];
}

function showKeys() {
  for (const each of keyed()) keys.showKey(each, each.dataset.act);
}

function wordsOf(element) {
  return element.dataset.means ?? element.textContent.trim();
}

// A case waits for its document; what the server cannot show may be decided all the same.
function isEarly() {
  return reader.state === "loading" || reader.state === "lost";
}

async function wait(opened) {
  allowAnswers();
  await opened;
  allowAnswers();
}

function allowAnswers() {
  const isAllowed = !isEarly();
  for (const each of main.querySelectorAll(".case-bar button")) {
    each.setAttribute("aria-disabled", String(!isAllowed));
  }
  if (isAllowed) tell("");
}

// Above the answers, until there is nothing to tell.
function tell(text) {
  const note = document.getElementById("unsent");
  note.textContent = text;
  note.hidden = !text;
}

async function mount() {
  const place = document.getElementById("reader");
  const named = keyed().map((each) => [
    each.dataset.act,
    { key: each.dataset.key, text: wordsOf(each) },
  ]);
  keys.define(Object.fromEntries(named), COMMANDS);
  keys.listen({});
  showKeys();
  place.replaceChildren(reader.root);
  reader.onAgain = (open) => wait(open());
  await wait(reader.open(documentAt(place.dataset), place.dataset.passages));
  if (!place.isConnected) return; // another case has come
  const pressed = keyed().map((each) => [each.dataset.act, () => each.click()]);
  keys.listen({
    ...Object.fromEntries(pressed),
    highlights() {
      announce(t(toggleMarks() ? "marks.on" : "marks.off"));
      reader.mark();
    },
    find: () => reader.focusFind(),
    help: () => keys.openKeys(showKeys),
  });
  performance.mark("qrowd-shown");
  await fetchFollowing(place);
  await showAlike();
}

async function showAlike() {
  const place = document.getElementById("alike");
  const reply = place && (await fetch(place.dataset.at).catch(() => null));
  if (!reply?.ok) return;
  const page = new DOMParser().parseFromString(await reply.text(), "text/html");
  place.replaceChildren(...page.body.childNodes);
}

// The next case's document, while this one is read; the server is told which one that was.
async function fetchFollowing({ dataset: { following } }) {
  if (!following) return;
  const next = await read(following).catch(() => null);
  if (!next) return;
  for (const form of main.querySelectorAll("form.case-bar")) {
    if (form.elements.next_topic) form.elements.next_topic.value = next.topic;
    if (form.elements.next_doc) form.elements.next_doc.value = next.doc;
  }
  fetchOnce(next.reading, () => read(next.reading)).catch(() => {});
}

// The page that comes takes the place of this one, unless it is of another kind.
async function go(address, options) {
  if (isBusy) return;
  isBusy = true;
  try {
    const reply = await fetch(address, options);
    if (reply.status >= 500) throw new Error(reply.statusText);
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    if (!page.getElementById("reader")) {
      location.assign(reply.url);
      return;
    }
    document.title = page.title;
    main.replaceChildren(...page.getElementById("main").childNodes);
    localise(main);
    if (reply.redirected || !options) history.pushState(null, "", reply.url);
    scrollTo(0, 0);
    const heading = main.querySelector("h1");
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
    const news = main.querySelector(".done, #problem")?.textContent.trim() ?? "";
    announce(`${news} ${heading.textContent}`.trim());
    mount();
  } catch {
    tell(t("expert.unsent"));
  } finally {
    isBusy = false;
  }
}

ignoreDoubleClicks(main, ".case-bar button");
main.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.matches(".case-bar") && isEarly()) {
    tell(t("early"));
    return;
  }
  const body = new URLSearchParams(new FormData(event.target, event.submitter));
  go(event.target.action, { method: "POST", body });
});
main.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-key]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.href);
});
addEventListener("popstate", () => location.reload());
mount();
