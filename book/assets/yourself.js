/* Questions to a reader, ten at a time, and the reader's own reliability diagram. The answers stay in
   this browser: a letter each, A to F for a correct one at 50 to 99 %, a to f for a wrong one. */
(() => {
  "use strict";
  const data = document.getElementById("yourself-questions");
  if (!data) return;
  const { pool, key, models } = JSON.parse(data.textContent);
  const LEVELS = [50, 60, 70, 80, 90, 99], ROUND = 10, LETTERS = "ABCDEFabcdef";

  const { html, svg, text, line, halves, button, numbers } = pageElements;
  const points = (share) => (100 * share).toFixed(0).replace("-", "−");
  const percent = (share, digits = 0) => `${(100 * share).toFixed(digits).replace("-", "−")} %`;

  /* The chances of 0 to n correct answers of n, each with the chance p. */
  const binomial = (n, p) => {
    let log = n * Math.log(1 - p); /* of a chance, which itself may be below 1e-308 */
    return Array.from({ length: n + 1 }, (_, k) => {
      const chance = Math.exp(log);
      log += Math.log(((n - k) / (k + 1)) * (p / (1 - p)));
      return chance;
    });
  };
  const spread = (n, p) => binomial(n, p).reduce((sum, chance, k) => sum + chance * Math.abs(k - n * p), 0);
  /* The shares between which chance leaves the answers of somebody calibrated in at least 95 %. */
  const band = (n, p) => {
    let below = 0, low = null;
    const chances = binomial(n, p);
    for (let k = 0; k <= n; k += 1) {
      below += chances[k];
      if (low === null && below > 0.025) low = k / n;
      if (below >= 0.975) return [low, k / n];
    }
    return [low, 1];
  };

  /* Where a falling function of 1 / T, with T between 0.2 and 10, passes 0. */
  const crossing = (of, low = 0.1, high = 5) => {
    if (of(low) <= 0) return low;
    if (of(high) >= 0) return high;
    for (let step = 0; step < 60; step += 1) {
      const middle = (low + high) / 2;
      if (of(middle) > 0) low = middle;
      else high = middle;
    }
    return (low + high) / 2;
  };
  /* The temperature of the highest likelihood, and those whose likelihood is not much lower. */
  const temperature = (bins, z) => {
    const total = (of) => bins.reduce((sum, { p, n, k }) => sum + of(Math.log(p / (1 - p)), n, k), 0);
    const slope = (scale) => total((x, n, k) => x * (k - n / (1 + Math.exp(-scale * x))));
    const logLikelihood = (scale) => total((x, n, k) => k * scale * x - n * Math.log(1 + Math.exp(scale * x)));
    const best = crossing(slope), lowest = logLikelihood(best) - z ** 2 / 2;
    return {
      best: 1 / best,
      low: 1 / crossing((scale) => logLikelihood(scale) - lowest, best),
      high: 1 / crossing((scale) => lowest - logLikelihood(scale), 0.1, best),
    };
  };
  /* Wide at first, so that of calibrated readers who look after each ten questions no more than 5 %
     are ever told that they are not (O'Brien and Fleming, 1979). */
  const width = (n) => 2.06 * Math.sqrt(pool.length / n);

  /* `counts` has, for each level, how many answers and how many of them were correct. */
  const measured = (counts) => {
    const bins = counts.map(([n, k], i) => ({ p: LEVELS[i] / 100, n, k })).filter(({ n }) => n);
    const total = (of) => bins.reduce((sum, bin) => sum + of(bin), 0);
    const n = total((bin) => bin.n), accuracy = total((bin) => bin.k) / n, z = width(n);
    const confidence = total((bin) => bin.n * bin.p) / n;
    const middle = (accuracy + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
    const half = (z / (1 + z ** 2 / n)) * Math.sqrt((accuracy * (1 - accuracy)) / n + z ** 2 / (4 * n ** 2));
    return {
      bins, n, accuracy, confidence,
      ece: total((bin) => Math.abs(bin.k - bin.n * bin.p)) / n,
      baseline: total((bin) => spread(bin.n, bin.p)) / n,
      brier: (2 * total(({ p, n, k }) => k * (1 - p) ** 2 + (n - k) * p ** 2)) / n, /* of both options */
      low: confidence - middle - half,
      high: confidence - middle + half,
      temperature: temperature(bins, z),
    };
  };
  const countsOf = (codes) => {
    const counts = LEVELS.map(() => [0, 0]);
    for (const letter of codes) {
      const at = LETTERS.indexOf(letter);
      counts[at % 6][0] += 1;
      counts[at % 6][1] += at < 6;
    }
    return counts;
  };

  /* `who` has the words of the discs. */
  const diagram = ({ bins, n }, who) => {
    const across = (share) => 50 + 548 * (share - 0.5), up = (share) => 300 - 270 * share;
    const drawn = halves(36, 334, up);
    for (const level of LEVELS) drawn.push(text(across(level / 100), 318, String(level), "play-middle"));
    drawn.push(text(187, 336, "Confidence, %", "play-middle"), text(4, 16, "Accuracy"));
    for (const { p, n: count } of bins) {
      const [low, high] = band(count, p);
      drawn.push(svg("rect", { x: across(p) - 9, y: up(high) - 1, width: 18, height: up(low) - up(high) + 2, class: "yourself-band" }));
    }
    drawn.push(line(across(0.5), up(0.5), across(1), up(1), "play-diagonal"));
    models.forEach(({ name, points }, m) => {
      const kind = `play-line play-${"bc"[m]}`, placed = points.map(([c, a]) => `${across(c).toFixed(1)} ${up(a).toFixed(1)}`);
      drawn.push(svg("path", { d: `M${placed.join("L")}`, class: kind }));
      drawn.push(line(40, 378 + 20 * m, 66, 378 + 20 * m, kind), text(74, 382 + 20 * m, name));
    });
    const last = 378 + 20 * models.length;
    drawn.push(line(40, last, 66, last, "play-diagonal"), text(74, last + 4, "perfectly calibrated"));
    for (const { p, n: count, k } of bins)
      drawn.push(svg("circle", { cx: across(p), cy: up(k / count), r: 4 + 12 * Math.sqrt(count / n), class: "yourself-dot" }));
    drawn.push(svg("circle", { cx: 53, cy: 358, r: 7, class: "yourself-dot" }), text(74, 362, who));
    drawn.push(svg("rect", { x: 196, y: 348, width: 12, height: 20, class: "yourself-band" }), text(214, 362, "chance leaves 95 %"));
    const words = bins.map(({ p, n: count, k }) => `at ${percent(p)}: ${k} of ${count} correct`).join("; ");
    return svg("svg", { viewBox: "0 0 344 426", role: "img", "aria-label": `Reliability diagram. ${words}.` }, ...drawn);
  };

  /* What the last screen says, of the reader or of the friend who sent the link. */
  const headline = ({ confidence, accuracy, n }, who) =>
    `${who} ${who === "You" ? "were" : "was"} ${percent(confidence)} sure, and right ${Math.round(accuracy * n)} times out of ${n}`;
  /* Where they were surest: at 90 % and above, or at the highest confidence that they gave. */
  const surest = ({ bins }, who) => {
    const [gpt] = models, sure = bins.filter(({ p }) => p >= 0.9), top = bins.at(-1);
    const [where, of, theirs] = sure.length ? ["90 % and above", sure, gpt.surest]
      : [percent(top.p), [top], gpt.points[LEVELS.indexOf(Math.round(100 * top.p))][1]];
    const [k, n] = ["k", "n"].map((key) => of.reduce((sum, bin) => sum + bin[key], 0));
    return `At ${where} ${who.toLowerCase()} got ${k} of ${n}. GPT-4 gets ${percent(theirs)} there.`;
  };
  const ENOUGH = 30;
  const luck = ({ low, high, n }, who) => {
    const be = who === "You" ? "You are" : "Your friend is";
    if (low > 0) return `${be} overconfident, by more than luck explains: by ${points(low)} points or more.`;
    if (high < 0) return `${be} underconfident, by more than luck explains: by ${points(-high)} points or more.`;
    return n < ENOUGH ? `Luck does much with ${n === ROUND ? "ten" : n} answers.` : `Luck can still explain it, after ${n} answers.`;
  };
  const allNumbers = (found) => {
    const { confidence, accuracy, low, high, brier, ece, baseline, temperature: t } = found;
    const short = (value) => (value <= 0.2 ? "≤ 0.2" : value >= 10 ? "≥ 10" : value.toFixed(2));
    return html("dl", { class: "play-numbers" }, ...numbers({
      "mean confidence": percent(confidence), accuracy: percent(accuracy),
      "confidence − accuracy": `${points(low)} to ${points(high)} points`,
      "Brier score": brier.toFixed(2), ECE: percent(ece, 1), "baseline ECE": percent(baseline, 1),
      temperature: `${short(t.low)} to ${short(t.high)}`, "best temperature": short(t.best),
    }));
  };
  /* Headline, what to do next, and the diagram; everything else is folded. */
  const results = (found, who, actions, ...more) => [
    html("h3", { tabindex: -1, class: "yourself-headline" }, headline(found, who)),
    html("p", { class: "yourself-surest" }, surest(found, who)),
    html("p", { class: "yourself-luck" }, luck(found, who)),
    html("div", { class: "yourself-actions" }, ...actions),
    html("div", { class: "play-panels" }, diagram(found, who === "You" ? `You, ${found.n} answers` : `${found.n} answers`)),
    html("details", {}, html("summary", {}, "All numbers"), allNumbers(found), ...more),
  ];

  /* A picture to keep, which needs none of the page's styles; on white, as all pages are for paper. */
  const picture = (found) => {
    const onWhite = getComputedStyle(document.documentElement), colour = (name) => onWhite.getPropertyValue(`--${name}`);
    const colours = { "play-grid": "stroke:#ccc", "play-diagonal": "stroke:#222;stroke-dasharray:5 4;stroke-width:1.4",
      "play-end": "text-anchor:end", "play-middle": "text-anchor:middle", "yourself-band": "fill:#ddd",
      "yourself-dot": `fill:${colour("blue")};fill-opacity:.75`, "play-line": "fill:none;stroke-width:2.2",
      "play-b": `stroke:${colour("orange")};stroke-dasharray:8 3`, "play-c": `stroke:${colour("grey")}` };
    const rules = Object.entries(colours).map(([name, rule]) => `.${name}{${rule}}`).join("");
    const inner = diagram(found, `Me, ${found.n} answers`);
    for (const [key, value] of Object.entries({ x: 8, y: 68, width: 344, height: 426 })) inner.setAttribute(key, value);
    const [first, second] = headline(found, "I").split(/(?<=,) /);
    const whole = svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: "0 0 360 540", width: 1080, height: 1620, "font-family": "sans-serif", "font-size": 12 },
      svg("style", {}, rules), svg("rect", { width: 360, height: 540, fill: "#fff" }),
      svg("text", { x: 12, y: 28, "font-size": 18, "font-weight": 700 }, first),
      svg("text", { x: 12, y: 50, "font-size": 18, "font-weight": 700 }, second), inner,
      svg("text", { x: 12, y: 512, "font-weight": 700 }, "And you? Ten questions:"), svg("text", { x: 12, y: 528, "font-size": 11 }, site()));
    const image = new Image();
    image.onload = () => {
      const canvas = html("canvas", { width: 1080, height: 1620 });
      canvas.getContext("2d").drawImage(image, 0, 0);
      html("a", { href: canvas.toDataURL("image/png"), download: "my-calibration.png" }).click();
    };
    image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(whole))}`;
  };

  /* Where the questions are. */
  const site = () => address([]).split("#")[0].replace(/^https?:\/\//, "");
  /* The address of a result: correct answers and answers at each level, and nothing else. */
  const address = (counts) =>
    `${location.href.split(/[?#]/)[0].replace(/[^/]*$/, "calibrate-yourself.html")}#result=${counts.map(([n, k]) => `${k}.${n}`).join("-")}`;
  const ofAddress = () => {
    const found = location.hash.match(/^#result=((\d{1,3}\.\d{1,3}-){5}\d{1,3}\.\d{1,3})$/);
    const counts = found && found[1].split("-").map((one) => one.split(".").map(Number).reverse());
    const sum = counts ? counts.reduce((all, [n]) => all + n, 0) : 0;
    return sum && sum <= pool.length && counts.every(([n, k]) => k <= n) ? counts : null;
  };

  /* A browser may keep nothing, as from a folder or in a private window. */
  const kept = (act) => { try { return act(localStorage); } catch { return null; } };
  const NAME = `calibrate-yourself-${key}`;
  const restored = () => {
    const code = kept((store) => store.getItem(NAME)) || "";
    return /^[A-Fa-f]*$/.test(code) && code.length <= pool.length ? code : "";
  };

  for (const stage of document.querySelectorAll(".yourself")) {
    let code = restored();
    const keep = (next) => {
      code = next;
      kept((store) => (code ? store.setItem(NAME, code) : store.removeItem(NAME)));
    };
    const show = (...parts) => {
      stage.replaceChildren(...parts);
      stage.querySelector("h3")?.focus();
    };
    const head = (words) => html("h3", { tabindex: -1 }, words);
    const forget = () => button("Forget my answers", () => (keep(""), begin()));

    const ask = () => {
      const { question, options, correct } = pool[code.length], nth = code.length % ROUND;
      let chosen = null;
      const levels = LEVELS.map((level, i) => button(`${level} %`, () => {
        keep(code + LETTERS[i + 6 * (chosen !== correct)]);
        if (code.length % ROUND) ask();
        else end();
      }, { disabled: "" }));
      const picks = options.map((words, i) => button(words, () => {
        chosen = i;
        picks.forEach((pick, j) => pick.setAttribute("aria-pressed", i === j));
        levels.forEach((level) => level.removeAttribute("disabled"));
      }, { "aria-pressed": false }));
      const back = button("Back", () => (keep(code.slice(0, -1)), ask()), nth ? {} : { disabled: "" });
      show(head(`Question ${nth + 1} of ${ROUND}`), html("p", {}, question),
        html("div", { class: "yourself-picks" }, ...picks), html("p", {}, "How likely is it that you are right?"),
        html("div", { class: "yourself-levels" }, ...levels), back);
    };
    const end = () => {
      const whole = code.slice(0, code.length - (code.length % ROUND)), counts = countsOf(whole), found = measured(counts);
      const rows = [...whole].map((letter, q) => {
        const { question, options, correct, fact, source } = pool[q], at = LETTERS.indexOf(letter);
        return html("tr", {}, html("td", {}, question), html("td", {}, `${options[correct]} (${fact})`),
          html("td", {}, `${at < 6 ? "correct" : "wrong"}, ${LEVELS[at % 6]} %`), html("td", {}, source));
      }).reverse();
      const heads = ["question", "answer", "yours", "source"].map((words) => html("th", { scope: "col" }, words));
      const challenge = button("Challenge a friend", async () => {
        const url = address(counts);
        if (navigator.share) return navigator.share({ title: document.title, text: `${headline(found, "I")}. And you?`, url }).catch(() => null);
        const copied = await navigator.clipboard?.writeText(url).then(() => true, () => false);
        challenge.textContent = copied ? "The link is copied: send it" : url;
      }, { class: "yourself-first" });
      const more = code.length < pool.length ? button("Ten more", ask) : html("p", {}, "You have answered all questions.");
      show(...results(found, "You", [challenge, more],
        html("div", { class: "yourself-actions" }, button("Save a picture", () => picture(found)), forget()),
        html("details", {}, html("summary", {}, "The answers and their sources"),
          html("div", { class: "yourself-answers" }, html("table", {}, html("thead", {}, html("tr", {}, ...heads)), html("tbody", {}, ...rows))))));
    };
    const begin = () => {
      const other = ofAddress();
      if (other) {
        const own = () => (history.replaceState(null, "", location.pathname), code.length >= pool.length ? end() : ask());
        show(...results(measured(other), "Your friend", [button("And you? Ten questions", own, { class: "yourself-first" })]));
        return;
      }
      const words = code.length % ROUND ? "Go on" : "Ten more";
      const goOn = code.length < pool.length ? [button(code ? words : "Begin", ask)] : [];
      stage.replaceChildren(...(code ? [html("p", {}, `This browser remembers your answers to ${code.length} questions.`)] : []),
        html("div", { class: "yourself-actions" }, ...goOn, ...(code.length >= ROUND ? [button("See my result", end)] : []), ...(code ? [forget()] : [])));
    };
    begin();
    addEventListener("hashchange", () => ofAddress() && begin());
  }
})();
