// Times in the reader's own zone, which is named, and as the reader's country writes them.

const { lang } = document.documentElement;
const own = navigator.languages.find((name) => name.split("-")[0] === lang);
const format = new Intl.DateTimeFormat(own ?? lang, {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  timeZoneName: "short",
});

export function localise(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.textContent = format.format(new Date(time.dateTime));
  }
}

localise(document);
