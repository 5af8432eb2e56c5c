// Sentences by name, in the page's language; numbers and money as that language writes them.

const data = JSON.parse(document.getElementById("data").textContent);
export const about = data.about;
const language = data.language;
const plural = new Intl.PluralRules(language);

export function has(name) {
  return name in data.texts;
}

// t("left", { n: 3 }) says "left.one" where n is one in this language, else "left".
export function t(name, values = {}) {
  const singular = `${name}.one`;
  const isSingular = "n" in values && plural.select(values.n) === "one" && has(singular);
  const text = data.texts[isSingular ? singular : name] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, key) => {
    const value = values[key];
    return typeof value === "number" ? value.toLocaleString(language) : String(value ?? "");
  });
}

// An amount in the currency's smallest unit, as cents.
export function money(minor) {
  const amount = minor / 10 ** about.digits;
  try {
    return amount.toLocaleString(language, { style: "currency", currency: about.currency });
  } catch {
    return `${amount.toFixed(about.digits)} ${about.currency}`;
  }
}

// A time in the reader's own zone, which is named.
export function time(milliseconds) {
  return new Date(milliseconds).toLocaleString(language, {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
  });
}

// The campaign's own word for a grade, else the usual one on a scale of this length.
export function label(grade) {
  if (grade === null || grade === undefined) return t("cannot");
  const ownLabel = about.labels[about.grades.indexOf(grade)];
  const usualName = `grade.${about.grades.length}.${grade}`;
  return ownLabel ?? (has(usualName) ? t(usualName) : String(grade));
}

// What went wrong, in the reader's language where we know it by its code.
export function problem(error) {
  return has(`error.${error.code}`) ? t(`error.${error.code}`) : error.message;
}
