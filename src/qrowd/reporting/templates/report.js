// Tables sort by a click on a heading; without scripts they stay as they are.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = (row) => {
        const cell = row.cells[column];
        const number = Number.parseFloat(cell.dataset.v);
        return cell.dataset.v === undefined
          ? cell.textContent
          : Number.isNaN(number)
            ? -Infinity
            : number;
      };
      const compare = (a, b) =>
        typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => compare(value(a), value(b)) * (down ? -1 : 1));
      table.tBodies[0].append(...rows);
    });
  });
}
