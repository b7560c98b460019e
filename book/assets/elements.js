/* For the other scripts: elements of a page and of its drawings, and what several of them draw. */
window.pageElements = (() => {
  const made = (one, attributes, children) => {
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    one.append(...children);
    return one;
  };
  const html = (name, attributes = {}, ...children) => made(document.createElement(name), attributes, children);
  const svg = (name, attributes = {}, ...children) =>
    made(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
  const line = (x1, y1, x2, y2, kind) => svg("line", { x1, y1, x2, y2, class: kind });
  const text = (x, y, words, kind = "") => svg("text", { x, y, class: kind }, words);
  const button = (words, act, attributes = {}) => {
    const one = html("button", { type: "button", ...attributes }, words);
    one.onclick = act;
    return one;
  };
  return {
    html, svg, line, text, button,
    /* An axis of shares: lines across at 0, one half and 1, whose heights `up` gives. */
    halves: (left, right, up) =>
      [0, 0.5, 1].flatMap((share) =>
        [line(left, up(share), right, up(share), "play-grid"), text(left - 6, up(share) + 4, String(share), "play-end")]),
    /* To fill gaps with: `name` for one above a bar, and `name`-in for one inside it. */
    hatches: (name) =>
      ["", "-in"].map((where) =>
        svg("pattern", { id: name + where, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
          line(0, 0, 0, 5, "play-hatch" + where))),
    /* Names and values, for a list of numbers. */
    numbers: (found) =>
      Object.entries(found).map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))),
  };
})();
