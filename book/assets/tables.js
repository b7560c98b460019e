/* Tables with the class "sortable": a click on a head sorts, and above the table stands a choice
   for each column of words. Without it they are plain tables in the order in which they were written. */
(() => {
  "use strict";
  const { html, button } = pageElements;
  /* "−0.12 to 0.3" counts as −0.12, "∞" as the largest; no number comes last either way. */
  const number = (words) => {
    if (words.startsWith("∞")) return Infinity;
    const found = words.replace("−", "-").match(/^[^\d-]*(-?[\d.]+)/);
    return found ? parseFloat(found[1]) : NaN;
  };
  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows].map((row) => ({ row, words: [...row.cells].map((cell) => cell.textContent.trim()) }));
    const numeric = heads.map((head) => head.classList.contains("numeric"));

    const sort = (column, sign) => {
      const keyed = rows.map((one) => ({ ...one, key: numeric[column] ? number(one.words[column]) : one.words[column] }));
      keyed.sort((a, b) => Number.isNaN(a.key) - Number.isNaN(b.key) || sign * compare(a.key, b.key));
      body.append(...keyed.map((one) => one.row));
      heads.forEach((head, k) => head.removeAttribute("aria-sort"));
      heads[column].setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    };
    heads.forEach((head, column) => {
      const words = head.textContent.trim();
      const turn = () => sort(column, head.getAttribute("aria-sort") === "ascending" ? -1 : 1);
      head.replaceChildren(button(words, turn, { class: "play-sort" }), html("span", { class: "play-printed", "aria-hidden": "true" }, words));
    });

    const controls = html("div", { class: "play" });
    const status = html("p", { "aria-live": "polite" });
    const chosen = new Map();
    const filter = () => {
      let shown = 0;
      for (const { row, words } of rows) {
        row.hidden = [...chosen].some(([column, select]) => select.value && words[column] !== select.value);
        shown += !row.hidden;
      }
      status.textContent = `${shown} of ${rows.length} rows`;
    };
    heads.forEach((head, column) => {
      const values = [...new Set(rows.map((one) => one.words[column]))];
      if (numeric[column] || values.length === rows.length) return;
      const options = values.map((value) => html("option", { value }, value));
      const select = html("select", { class: "play-choice" }, html("option", { value: "" }, "all"), ...options);
      select.addEventListener("change", filter);
      chosen.set(column, select);
      controls.append(html("label", { class: "play-filter" }, head.firstChild.textContent, select));
    });
    if (!chosen.size) continue;
    controls.append(status);
    filter();
    (table.closest(".pst-scrollable-table-container") || table).before(controls);
  }
})();
