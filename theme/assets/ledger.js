// The ledger of claims: sorted by any column, narrowed by article, prediction and device. Without this it is a plain table.

for (const ledger of document.querySelectorAll(".wb-ledger")) {
  const table = ledger.querySelector("table"); // the gates, folded below, are another
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.querySelectorAll("th")];
  const words = new Intl.Collator(document.documentElement.lang, { numeric: true });

  // Numbers of one unit stay together; what is not there comes last, whichever way.
  function compare(a, b, way) {
    if (a.dataset.sort === undefined) return way * words.compare(a.textContent, b.textContent);
    if (!a.dataset.sort || !b.dataset.sort) return Boolean(b.dataset.sort) - Boolean(a.dataset.sort);
    return words.compare(a.dataset.unit, b.dataset.unit) || way * (a.dataset.sort - b.dataset.sort);
  }

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort((a, b) => compare(a.cells[column], b.cells[column], down ? -1 : 1));
      body.append(...rows);
    });
  });

  const filters = ledger.querySelector(".wb-ledger__filters");
  const said = ledger.querySelector(".wb-ledger__filtered");
  filters.hidden = !filters.childElementCount;
  filters.addEventListener("change", () => {
    const asked = [...filters.querySelectorAll("select")].filter((select) => select.value);
    for (const row of rows) row.hidden = asked.some((select) => row.dataset[select.name] !== select.value);
    const shown = rows.filter((row) => !row.hidden).length;
    said.textContent = asked.length
      ? ledger.dataset.filtered.replace("{shown}", shown).replace("{all}", rows.length)
      : "";
  });
}
