// Tables sort by a click on a heading; without scripts they stay as they are.

// By which a cell is sorted: its number where it has one; a missing number is the smallest.
function sortValue(cell) {
  const { v: value } = cell.dataset;
  if (value === undefined) return cell.textContent;
  const number = Number.parseFloat(value);
  return Number.isNaN(number) ? -Infinity : number;
}

function compare(first, second) {
  if (typeof first !== "string") return first - second;
  return first.localeCompare(second, undefined, { numeric: true });
}

function sortBy(table, heads, column) {
  const head = heads[column];
  const isDown = head.getAttribute("aria-sort") !== "descending";
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", isDown ? "descending" : "ascending");
  const [body] = table.tBodies;
  const rows = [...body.rows];
  const sign = isDown ? -1 : 1;
  rows.sort(
    (first, second) =>
      sign * compare(sortValue(first.cells[column]), sortValue(second.cells[column])),
  );
  body.append(...rows);
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  for (const [column, head] of heads.entries()) {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    button.addEventListener("click", () => sortBy(table, heads, column));
    head.replaceChildren(button);
  }
}
