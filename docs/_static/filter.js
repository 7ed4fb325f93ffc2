// A long table gets a box that hides the rows without the words one types. Without this script it is just long.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("article table")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 50) continue;
    const box = Object.assign(document.createElement("input"), {
      type: "search",
      placeholder: `Filter ${rows.length} rows: a code, a word, a family`,
      style: "width: 100%; padding: .5em; margin: 1em 0; font: inherit; box-sizing: border-box",
    });
    box.setAttribute("aria-label", "Filter the table");
    const texts = rows.map((row) => row.textContent.toLowerCase());
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/);
      rows.forEach((row, i) => (row.hidden = !words.every((word) => texts[i].includes(word))));
    });
    (table.closest(".table-wrapper") ?? table).before(box);
  }
});
