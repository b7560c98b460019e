/* Draws what a reader can try in the place of a figure. Each play has all its frames beside it, computed by
   calib_utils: this picks one, and computes nothing. A pale line shows how it was at the start. */
(() => {
  "use strict";
  const WIDTH = 340, LEFT = 40, RIGHT = 328;

  const { html, svg, text, line, button, hatches } = pageElements;

  const short = (value) => +value.toFixed(2);
  const box = (x, y, width, height, kind) =>
    svg("rect", { x: short(x), y: short(y), width: short(width), height: short(height), class: kind });
  const scale = ({ low, high }, from, to) => (value) =>
    short(from + ((value - low) / (high - low)) * (to - from));

  const axes = (x, y, top, bottom) => {
    const [across, up] = [scale(x, LEFT, RIGHT), scale(y, bottom, top)];
    const drawn = [];
    for (const [at, words] of y.ticks)
      drawn.push(line(LEFT, up(at), RIGHT, up(at), "play-grid"), text(LEFT - 6, up(at) + 4, words, "play-end"));
    for (const [at, words] of x.ticks)
      drawn.push(line(across(at), bottom, across(at), bottom + 4, "play-axis"), text(across(at), bottom + 16, words, "play-middle"));
    drawn.push(line(LEFT, bottom, RIGHT, bottom, "play-axis"));
    if (x.label) drawn.push(text((LEFT + RIGHT) / 2, bottom + 32, x.label, "play-middle"));
    return [across, up, drawn];
  };

  const share = { low: 0, high: 1, ticks: [0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => [at, String(at)]) };

  const ends = (counts, edges, m) => (edges ? [edges[m], edges[m + 1]] : [m / counts.length, (m + 1) / counts.length]);

  /* Bars of accuracy, hatched up or down to the confidence; counts above. */
  const bins = (panel, pick, hatch, state, start) => {
    if (state === null) return [text(WIDTH / 2, panel.height / 2, "Guess first", "play-middle play-wait")];
    const shown = pick(panel.frames), begun = pick(panel.frames, start);
    const [counts, right, sums, edges] = shown;
    const bottom = panel.height - 38, top = 76, foot = 64, most = panel.top || Math.max(...counts), rise = 40 / most;
    const [across, up, drawn] = axes({ ...share, label: panel.x }, share, top, bottom);
    drawn.push(
      ...hatches(hatch),
      box(LEFT, 3, 11, 11, "play-bar"), text(LEFT + 16, 13, panel.y),
      box(145, 3, 11, 11, "play-bar"), /* for a gap inside a bar */
      ...["", "-in"].map((where, i) =>
        svg("rect", { x: 132 + 13 * i, y: 3, width: 11, height: 11, fill: `url(#${hatch}${where})`, class: "play-gap" })),
      text(160, 13, "gap"),
      line(196, 9, 216, 9, "play-diagonal"), text(222, 13, "calibrated"),
      text(LEFT - 6, 34, most.toLocaleString("en"), "play-end"),
      line(LEFT, foot, RIGHT, foot, "play-axis"), text(LEFT - 6, foot, "0", "play-end"),
    );
    counts.forEach((count, m) => {
      if (!count) return;
      const [from, to] = ends(counts, edges, m);
      const x = across(from) + 0.6, width = Math.max(across(to) - across(from) - 1.2, 0.8);
      const [accuracy, confidence] = [up(right[m] / count), up(sums[m] / count)];
      const gap = box(x, Math.min(accuracy, confidence), width, Math.abs(accuracy - confidence), "play-gap");
      gap.setAttribute("fill", `url(#${hatch}${accuracy < confidence ? "-in" : ""})`);
      drawn.push(
        box(x, foot - count * rise, width, count * rise, "play-count"),
        svg("g", { class: count < panel.few ? "play-few" : "" }, box(x, accuracy, width, bottom - accuracy, "play-bar"), gap),
      );
    });
    if (begun !== shown) {
      const [counts, right, , edges] = begun;
      drawn.push(line(290, 9, 304, 9, "play-ghost"), text(309, 13, "start"));
      counts.forEach((count, m) => {
        const [from, to] = ends(counts, edges, m);
        if (count) drawn.push(line(across(from), up(right[m] / count), across(to), up(right[m] / count), "play-ghost"));
      });
    }
    drawn.push(line(LEFT, bottom, RIGHT, top, "play-halo"), line(LEFT, bottom, RIGHT, top, "play-diagonal"));
    return drawn;
  };

  const SIGNS = { o: "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z", s: "M-3.5,-3.5h7v7h-7z", d: "M0,-5l5,5l-5,5l-5,-5z" };

  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = `12px ${getComputedStyle(document.body).fontFamily}`;

  const lines = (panel, pick, hatch, state, start) => {
    const under = panel.x.of ? pick(panel.x) : panel.x, top = 26, bottom = panel.height - (under.label ? 38 : 22);
    const [across, up, drawn] = axes(under, panel.y, top, bottom);
    const placed = (xs, ys) => ys.map((value, i) => [across(xs[i]), up(value)]);
    const within = (points) => points.filter(([, y]) => y >= top);
    drawn.push(text(LEFT, 13, panel.title, "play-head"));
    if (state === null) drawn.push(text((LEFT + RIGHT) / 2, (top + bottom) / 2, "Guess first", "play-middle play-wait"));
    if (state === null && !panel.begins) return drawn;
    panel.marks.forEach(([at, words], i) =>
      drawn.push(line(across(at), top - 4, across(at), bottom, "play-mark"), text(across(at) + (i ? 4 : -4), top + 6, words, i ? "" : "play-end")));
    let names = RIGHT;
    for (const { x, y, name, style, dots, moves, soFar } of panel.curves) {
      const all = placed(pick(x), pick(y));
      const points = !state ? all.filter((_, i) => !pick(x)[i]) : soFar ? all.slice(0, state[panel.at] + 1) : all;
      const sign = ([x, y], kind = "") =>
        svg("path", { d: SIGNS[dots[0]] || SIGNS.o, transform: `translate(${x} ${y})`, class: `play-sign play-${style} ${kind}` });
      const joined = !dots || dots[1], begun = pick(y, start);
      if (joined && begun !== pick(y))
        drawn.push(svg("path", { d: "M" + within(placed(pick(x, start), begun)).join("L"), class: "play-line play-ghost" }));
      if (joined && points.length) drawn.push(svg("path", { d: "M" + within(points).join("L"), class: `play-line play-${style}` }));
      if (dots) drawn.push(...within(points).map((point) => sign(point)));
      if (moves) {
        const [x, y] = points[state[panel.at]];
        drawn.push(line(x, top, x, bottom, "play-here"));
        if (y >= top) drawn.push(svg("circle", { cx: x, cy: y, r: 6, class: "play-dot" }));
      }
      if (name) {
        const width = ruler.measureText(name).width + 6;
        drawn.push(text(names, 13, name, "play-end"));
        if (joined) drawn.push(line(names - width - 20, 9, names - width, 9, `play-line play-${style}`));
        if (dots) drawn.push(sign([names - width - 10, 9]));
        names -= width + 34;
      }
    }
    return drawn;
  };

  const CELL = 150;
  const picture = (panel, pick) => {
    const [column, row] = pick(panel.cells), x = (LEFT + RIGHT - CELL) / 2;
    return [text(LEFT, 13, panel.title, "play-head"),
      svg("svg", { x, y: 26, width: CELL, height: CELL, viewBox: `${column} ${row} 1 1` },
        svg("image", { href: panel.source, width: panel.across, height: panel.down, class: "play-pixels" }))];
  };
  const KINDS = { bins, lines, picture };

  document.querySelectorAll("script[data-play]").forEach((script, nth) => {
    const { title, alt, controls, numbers, panels, guess, address } = JSON.parse(script.textContent);
    const figure = document.getElementById(script.dataset.play), stage = figure.querySelector(".play-stage");
    const start = controls.map(({ start }) => start), state = [...start];
    const pick = ({ by, of }, at = state) => of[by.reduce((i, c) => i * controls[c].stops.length + at[c], 0)];
    const pictures = panels.map(({ height }) => svg("svg", { viewBox: `0 0 ${WIDTH} ${height}` }));
    const values = numbers.map(() => html("dd"));
    const said = html("dl", { class: "play-numbers" },
      ...numbers.map(({ label }, i) => html("div", {}, html("dt", {}, label), values[i])));
    const shown = [];

    /* First a guess, if one is asked for, or one for each stop of a control: until then what it is
       about is hidden. A link to a state shows it without a guess. */
    const guesses = {}, anew = guess && guess.anew !== null, round = () => (anew ? state[guess.anew] : 0);
    const learned = html("div", { "aria-live": "polite", tabindex: -1 });
    const worth = (guessed) => guessed && pick(guess.words, state.map((stop, c) => (guess.controls.includes(c) ? guessed[c] : stop)));
    const made = button("This is my guess", () => {
      guesses[round()] = [...state];
      draw();
      learned.focus(); /* the button is gone */
    });

    const draw = () => {
      const waits = guess && !(round() in guesses);
      if (guess) {
        const words = waits ? guess.ask : worth(guesses[round()]);
        if (learned.textContent !== words) learned.textContent = words; /* or it is read again */
        play.classList.toggle("play-waits", waits);
        [made, ...answers].forEach((one) => (one.hidden = !waits));
      }
      const words = numbers.map((number) => (waits && number.later ? "?" : pick(number)));
      words.forEach((word, i) => (values[i].textContent = word));
      panels.forEach((panel, i) =>
        pictures[i].replaceChildren(...KINDS[panel.kind](panel, pick, `play-${nth}-${i}`, waits && panel.later ? null : state, anew ? state : start)));
      const all = numbers.map(({ label }, i) => `${label} ${words[i]}`).join(", ");
      shown.forEach((show) => show(all));
    };
    const go = (c, stop, live) => {
      state[c] = stop;
      said.setAttribute("aria-live", live); // a slider reads the numbers itself
      draw();
    };

    /* A state is an address, such as #fig-rain?power=1.6, which a link, a reload and Back restore. */
    const names = controls.map(({ label }) => label.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-"));
    const called = address || figure.id;
    const keep = () => history.replaceState(null, "", `#${called}?` + new URLSearchParams(names.map((name, c) => [name, controls[c].stops[state[c]]])));
    const restore = () => {
      const [id, query] = location.hash.slice(1).split("?");
      if (id !== called) return;
      if (query === undefined) return figure.scrollIntoView();
      const asked = new URLSearchParams(query);
      const alike = (stop, words) => stop === words || (words !== "" && words !== null && +stop === +words); /* 1.6 is 1.60 */
      controls.forEach(({ stops }, c) => {
        const at = stops.findIndex((stop) => alike(stop, asked.get(names[c])));
        state[c] = at < 0 ? start[c] : at;
      });
      if (!(round() in guesses)) guesses[round()] = "";
      draw();
      figure.scrollIntoView();
    };
    const knobs = controls.map(({ kind, label, stops, marks = [] }, c) => {
      const id = `play-${nth}-control-${c}`, value = html("output", { for: id, class: "play-value" });
      const to = (stop) => (go(c, stop, "polite"), keep());
      if (kind === "choice") {
        const select = html("select", { id, class: "play-choice" }, ...stops.map((stop) => html("option", {}, stop)));
        select.onchange = () => to(select.selectedIndex);
        shown.push(() => (select.selectedIndex = state[c]));
        return html("div", {}, html("label", { for: id, class: "play-label" }, label), select);
      }
      if (kind === "again") {
        shown.push(() => (value.textContent = stops[state[c]]));
        return html("div", {}, button(label, () => to((state[c] + 1) % stops.length), { id }), value);
      }
      const last = stops.length - 1, input = html("input", { type: "range", id, min: 0, max: last, step: 1, value: state[c] });
      input.oninput = () => go(c, +input.value, "off");
      input.onchange = keep;
      shown.push((all) => {
        value.textContent = stops[state[c]];
        input.value = state[c];
        input.style.setProperty("--play-at", state[c] / last);
        input.setAttribute("aria-valuetext", `${stops[state[c]]}: ${all}`);
      });
      return html("div", {}, html("label", { for: id, class: "play-label" }, label), value,
        html("div", { class: "play-track" }, input,
          ...marks.map(([stop]) => html("span", { style: `--play-at:${stop / last}` }))),
        ...marks.map(([stop, words]) => button(words, () => to(stop))));
    });

    const answers = anew ? guess.controls.map((c) => knobs[c]) : [];
    /* The picture, then the knobs, so that a phone shows both at once; the other panels come last. */
    const [first, ...others] = pictures;
    const play = html("div", { class: "play", role: "group", "aria-label": title },
      html("p", {}, html("span", {}, guess ? "Guess" : "Try it"), title),
      html("div", { class: "play-panels play-first", role: "img", "aria-label": alt }, first),
      html("div", { class: "play-side" },
        html("div", { class: "play-controls" }, ...knobs.filter((one) => !answers.includes(one))),
        ...(guess ? [html("div", { class: "play-guess" }, learned, ...answers, made)] : []), said),
      ...(others.length ? [html("div", { class: "play-panels play-rest", "aria-hidden": true }, ...others)] : []));
    draw();
    stage.append(play);
    addEventListener("hashchange", restore);
    restore();
  });
})();
