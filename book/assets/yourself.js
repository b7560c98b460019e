/* Twenty questions to a reader, and the reader's own reliability diagram. Everything stays in the
   browser. A line of results, "50 2/5, 60 1/3", can be given to somebody who adds up a class. */
(() => {
  "use strict";
  const LEVELS = [50, 60, 70, 80, 90, 99], ROUND = 20, Z = 1.96;

  const { html, svg } = pageElements;
  const button = (words, act, attributes = {}) => {
    const one = html("button", { type: "button", ...attributes }, words);
    one.onclick = act;
    return one;
  };
  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits).replace("-", "−")} %`;

  /* The mean |X / n − p| of X ~ Binomial(n, p), times n: what chance alone does to a bin. */
  const spread = (n, p) => {
    let log = n * Math.log(1 - p), sum = 0; /* of a chance, which itself may be below 1e-308 */
    for (let k = 0; k <= n; k += 1) {
      sum += Math.exp(log) * Math.abs(k - n * p);
      log += Math.log(((n - k) / (k + 1)) * (p / (1 - p)));
    }
    return sum;
  };
  /* The root in 1 / T of the derivative of the NLL, with T between 0.2 and 10. */
  const temperature = (bins) => {
    const slope = (scale) =>
      bins.reduce((sum, { p, n, k }) => {
        const z = Math.log(p / (1 - p));
        return sum + z * (k - n / (1 + Math.exp(-scale * z)));
      }, 0);
    let [low, high] = [0.1, 5];
    if (slope(low) <= 0) return 10;
    if (slope(high) >= 0) return 0.2;
    for (let step = 0; step < 60; step += 1) {
      const middle = (low + high) / 2;
      if (slope(middle) > 0) low = middle;
      else high = middle;
    }
    return 2 / (low + high);
  };
  /* `counts` has, for each level, how many predictions and how many of them were correct. */
  const measured = (counts) => {
    const bins = counts.map(([n, k], i) => ({ p: LEVELS[i] / 100, n, k })).filter(({ n }) => n);
    const total = (of) => bins.reduce((sum, bin) => sum + of(bin), 0);
    const n = total((bin) => bin.n), accuracy = total((bin) => bin.k) / n;
    const confidence = total((bin) => bin.n * bin.p) / n;
    const middle = (accuracy + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
    const half = (Z / (1 + Z ** 2 / n)) * Math.sqrt((accuracy * (1 - accuracy)) / n + Z ** 2 / (4 * n ** 2));
    return {
      bins, n, accuracy, confidence,
      ece: total((bin) => Math.abs(bin.k - bin.n * bin.p)) / n,
      baseline: total((bin) => spread(bin.n, bin.p)) / n,
      low: confidence - middle - half,
      high: confidence - middle + half,
      temperature: temperature(bins),
    };
  };

  const diagram = ({ bins, n }) => {
    const across = (share) => 40 + 576 * (share - 0.5), up = (share) => 300 - 270 * share;
    const drawn = [0, 0.5, 1].flatMap((share) => [
      svg("line", { x1: 40, x2: 328, y1: up(share), y2: up(share), class: "play-grid" }),
      svg("text", { x: 34, y: up(share) + 4, class: "play-end" }, String(share)),
    ]);
    for (const level of LEVELS)
      drawn.push(svg("text", { x: across(level / 100), y: 318, class: "play-middle" }, String(level)));
    drawn.push(svg("text", { x: 184, y: 340, class: "play-middle" }, "Confidence, %"));
    drawn.push(svg("text", { x: 4, y: 16 }, "Accuracy (area: how many)"));
    drawn.push(svg("line", { x1: across(0.5), y1: up(0.5), x2: across(1), y2: up(1), class: "play-diagonal" }));
    for (const { p, n: count, k } of bins) {
      const [x, y] = [across(p), up(k / count)];
      drawn.push(svg("line", { x1: x, x2: x, y1: up(p), y2: y, class: "play-line play-b" }));
      drawn.push(svg("circle", { cx: x, cy: y, r: 4 + 20 * Math.sqrt(count / n), class: "yourself-dot" }));
    }
    const words = bins.map(({ p, n: count, k }) => `at ${percent(p)}: ${k} of ${count} correct`).join("; ");
    return svg("svg", { viewBox: "0 0 344 346", role: "img", "aria-label": `Reliability diagram. ${words}.` }, ...drawn);
  };

  const verdict = (who, { low, high, n }) => {
    if (low > 0) return `${who} overconfident.`;
    if (high < 0) return `${who} underconfident.`;
    return `${n} questions cannot tell whether ${who.toLowerCase()} over- or underconfident.`;
  };
  const results = (who, counts) => {
    const found = measured(counts), { confidence, accuracy, ece, baseline, low, high } = found;
    const t = found.temperature, rounded = t <= 0.2 ? "0.2 or less" : t >= 10 ? "10 or more" : t.toFixed(2);
    const numbers = {
      "mean confidence": percent(confidence), accuracy: percent(accuracy),
      "confidence − accuracy": `${percent(low)} to ${percent(high)}`,
      ECE: percent(ece, 1), "baseline ECE": percent(baseline, 1), temperature: rounded,
    };
    const rows = Object.entries(numbers).map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value)));
    return [html("p", { class: "yourself-verdict" }, verdict(who, found)), html("dl", { class: "play-numbers" }, ...rows),
      html("div", { class: "play-panels" }, diagram(found))];
  };

  const asLine = (counts) => counts.map(([n, k], i) => `${LEVELS[i]} ${k}/${n}`).join(", ");
  const ofLines = (text) => {
    const counts = LEVELS.map(() => [0, 0]);
    for (const [, level, k, n] of text.matchAll(/(\d+) (\d+)\/(\d+)/g)) {
      const at = LEVELS.indexOf(+level);
      if (at < 0 || +k > +n) continue;
      counts[at][0] += +n;
      counts[at][1] += +k;
    }
    return counts;
  };

  for (const stage of document.querySelectorAll(".yourself")) {
    const pool = JSON.parse(document.getElementById("yourself-questions").textContent);
    let first = 0, given = [], chosen = null;

    const show = (...parts) => {
      stage.replaceChildren(...parts);
      stage.querySelector("h3")?.focus();
    };
    const head = (words) => html("h3", { tabindex: -1 }, words);
    const ask = () => {
      const { question, options } = pool[first + given.length];
      chosen = null;
      const levels = LEVELS.map((level, i) =>
        button(`${level} %`, () => (given.push([chosen, i]), given.length < ROUND ? ask() : end()), { disabled: "" }));
      const picks = options.map((words, i) =>
        button(words, () => {
          chosen = i;
          picks.forEach((pick, j) => pick.setAttribute("aria-pressed", i === j));
          levels.forEach((level) => level.removeAttribute("disabled"));
        }, { "aria-pressed": false }));
      const back = button("Back", () => (given.pop(), ask()), given.length ? {} : { disabled: "" });
      show(head(`Question ${given.length + 1} of ${ROUND}`), html("p", {}, question),
        html("div", { class: "yourself-picks" }, ...picks),
        html("p", {}, "How likely is it that you are right?"),
        html("div", { class: "yourself-levels" }, ...levels), back);
    };
    const end = () => {
      const counts = LEVELS.map(() => [0, 0]);
      const rows = given.map(([pick, i], q) => {
        const { question, options, correct, source } = pool[first + q], hit = pick === correct;
        counts[i][0] += 1;
        counts[i][1] += hit;
        return html("tr", {}, html("td", {}, question), html("td", {}, options[correct]),
          html("td", {}, `${hit ? "correct" : "wrong"}, ${LEVELS[i]} %`), html("td", {}, source));
      });
      const heads = ["question", "answer", "yours", "source"].map((words) => html("th", { scope: "col" }, words));
      const next = () => ((first = (first + ROUND) % pool.length), (given = []), ask());
      show(head("Your result"), ...results("You are", counts),
        html("p", {}, "For your class, if you take part in one: ", html("code", {}, asLine(counts))),
        button("Twenty other questions", next),
        html("details", {}, html("summary", {}, "The answers and their sources"),
          html("div", { class: "yourself-answers" }, html("table", {}, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows)))));
    };
    show(button("Begin", ask));
  }

  for (const stage of document.querySelectorAll(".yourself-class")) {
    const lines = html("textarea", { id: "yourself-lines", rows: 6, placeholder: asLine(LEVELS.map(() => [3, 2])) });
    const found = html("div", { "aria-live": "polite" });
    lines.oninput = () => {
      const counts = ofLines(lines.value), any = counts.some(([n]) => n);
      found.replaceChildren(...(any ? results("The class is", counts) : []));
    };
    stage.append(html("label", { for: "yourself-lines" }, "The lines of the class, one below the other"), lines, found);
  }
})();
