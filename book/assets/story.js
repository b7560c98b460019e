/* The picture that opens the first chapter. How far the reader has scrolled, or, for one who prefers
   no movement, the buttons below it are all that it depends on: dots (0) fall into bins (1) and become bars (2), the diagonal appears (3), then the gap (4),
   and the temperature turns until the bars stand on the diagonal (5). All numbers come with it. */
(() => {
  "use strict";
  const { html, svg, text, line, halves, button, hatches } = pageElements;
  const LEFT = 34, WIDTH = 294, TOP = 34, BOTTOM = 292, HEIGHT = BOTTOM - TOP;
  const mix = (a, b, t) => a + (b - a) * t;
  /* From 0 to 1 while `at` goes from `start` to `end`, slowly at both ends. */
  const ease = (at, start, end) => {
    const t = Math.min(Math.max((at - start) / (end - start), 0), 1);
    return t * t * (3 - 2 * t);
  };
  /* Only what changes, so that a frame costs little. */
  const set = (one, attributes) => {
    one.had ||= {};
    for (const key in attributes)
      if (one.had[key] !== attributes[key]) one.setAttribute(key, (one.had[key] = attributes[key]));
  };
  const write = (one, words) => one.textContent !== words && (one.textContent = words);

  const tell = (story, { dots, frames, few, alt }, nth) => {
    const M = dots.length, wide = WIDTH / M, hatch = `story-${nth}`;
    const up = (share) => BOTTOM - HEIGHT * share, across = (share) => LEFT + WIDTH * share;

    /* Each dot where it lies in the cloud, and where in the pile of its bin: correct ones below. */
    const most = Math.max(...dots.map(([right, wrong]) => right.length + wrong.length));
    const columns = Math.ceil(Math.sqrt((most * wide) / HEIGHT)), pitch = (wide - 2) / columns;
    const points = [[], []];
    dots.forEach(([right, wrong], m) => [...right, ...wrong].forEach((confidence, i) => {
      const n = right.length + wrong.length, kind = +(i >= right.length), k = points[0].length + points[1].length;
      points[kind].push({
        x: across(confidence), y: up(0.03 + 0.94 * ((k * 0.618034) % 1)), late: (k * 0.381966) % 1,
        pileX: LEFT + m * wide + 1 + ((i % columns) + 0.5) * pitch,
        pileY: BOTTOM - (Math.floor(i / columns) + 0.5) * pitch, barY: up((i + 0.5) / n),
      });
    }));
    const size = pitch * 0.82;

    const cloud = svg("g", { "stroke-linecap": "round", fill: "none" });
    const [right, ring, hole] = ["story-right", "story-wrong", "story-hole"].map((kind, i) =>
      svg("path", { class: kind, "stroke-width": i < 2 ? size : size - 2 }));
    cloud.append(right, ring, hole);
    const bars = dots.map((_, m) => ["play-bar", "play-gap"].map((kind) =>
      svg("rect", { x: LEFT + m * wide + 0.6, width: wide - 1.2, class: kind })));
    const diagonal = ["play-halo", "play-diagonal"].map((kind) => line(LEFT, BOTTOM, LEFT, BOTTOM, kind));
    const scale = svg("g", {}, ...halves(LEFT, LEFT + WIDTH, up), text(LEFT, TOP - 8, "Accuracy"));
    const key = svg("g", {}, svg("circle", { cx: LEFT + 5, cy: 10, r: 4, class: "story-key-right" }), text(LEFT + 14, 14, "correct"),
      svg("circle", { cx: LEFT + 71, cy: 10, r: 3.2, class: "story-key-wrong" }), text(LEFT + 80, 14, "wrong"));
    const said = text(LEFT + 14, up(0.84), "", "story-said");
    const needle = line(0, 0, 0, -9, "story-needle");
    const knob = svg("g", { transform: `translate(${LEFT + WIDTH - 14} 13)` }, svg("circle", { r: 11, class: "story-dial" }), needle);
    const turned = text(LEFT + WIDTH - 30, 17, "", "play-end play-head");
    const drawn = svg("svg", { viewBox: "0 0 340 334", role: "img", "aria-label": alt },
      ...hatches(hatch), scale, ...bars.flat(), cloud, ...diagonal, key, said, knob, turned, line(LEFT, BOTTOM, LEFT + WIDTH, BOTTOM, "play-axis"),
      ...[0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => text(across(at), BOTTOM + 16, String(at), "play-middle")),
      text(LEFT + WIDTH / 2, BOTTOM + 34, "Confidence", "play-middle"));

    let moved = -1;
    const draw = (at) => {
      const fall = ease(at, 0.2, 0.9), stretch = ease(at, 1.2, 1.7), become = ease(at, 1.6, 1.95);
      const place = ({ x, y, late, pileX, pileY, barY }) => {
        const own = ease(fall, 0.4 * late, 0.6 + 0.4 * late);
        return `M${mix(x, pileX, own).toFixed(1)} ${mix(mix(y, pileY, own * own), barY, stretch).toFixed(1)}h0`;
      };
      if (become < 1 && moved !== fall + stretch) {
        moved = fall + stretch;
        const wrong = points[1].map(place).join("");
        set(right, { d: points[0].map(place).join("") });
        set(ring, { d: wrong });
        set(hole, { d: wrong });
      }
      set(cloud, { opacity: 1 - become, visibility: become < 1 ? "visible" : "hidden" });
      const steady = ease(at, 2.2, 2.7), gap = ease(at, 3.3, 3.9), turn = ease(at, 4.15, 4.9);
      const now = turn * (frames.length - 1), k = Math.min(Math.floor(now), frames.length - 2);
      const [before, after] = [frames[k].bins, frames[k + 1].bins], shown = frames[Math.round(now)];
      bars.forEach(([bar, piece], m) => {
        const [some, others] = dots[m], n = some.length + others.length;
        const height = (row) => (before[0][m] && after[0][m] ? mix(before[row][m], after[row][m], now - k) : before[row][m] || after[row][m]);
        const accuracy = steady < 1 ? mix(n ? some.length / n : 0, before[1][m], steady) : height(1), confidence = height(2);
        const pale = mix(1, shown.bins[0][m] < few ? 0.4 : 1, steady);
        const [low, high] = [Math.min(accuracy, confidence), Math.max(accuracy, confidence)];
        set(bar, { y: up(accuracy).toFixed(2), height: (HEIGHT * accuracy).toFixed(2), opacity: become * pale });
        set(piece, { y: up(high).toFixed(2), height: (HEIGHT * (high - low)).toFixed(2), opacity: gap * pale,
          fill: `url(#${hatch}${accuracy > confidence ? "-in" : ""})` });
      });
      const drawnTo = ease(at, 2.4, 2.95);
      diagonal.forEach((one) => set(one, { x2: mix(LEFT, LEFT + WIDTH, drawnTo), y2: mix(BOTTOM, TOP, drawnTo) }));
      set(scale, { opacity: become });
      set(key, { opacity: 1 - become });
      set(said, { opacity: gap });
      write(said, shown.gap);
      write(turned, shown.T);
      [knob, turned].forEach((one) => set(one, { opacity: ease(at, 3.8, 4.2) }));
      set(needle, { transform: `rotate(${mix(-60, 60, turn).toFixed(1)})` });
    };

    const stage = story.querySelector(".story-stage"), steps = [...story.querySelectorAll(".story-steps > p")];
    /* Where to scroll for each step, so that it is in the middle of what the picture leaves of the
       window. It is measured when the page changes, since to measure in each frame takes long. */
    let tops = [];
    const measure = () => {
      const { offsetWidth, offsetHeight } = stage, above = offsetWidth > 0.8 * story.offsetWidth;
      const stuck = above ? parseFloat(getComputedStyle(stage).top) + offsetHeight : 0;
      tops = steps.map((one) => one.getBoundingClientRect()).map(
        ({ top, height }) => scrollY + top + height / 2 - (stuck + innerHeight) / 2);
      show();
    };
    /* Who prefers no movement goes from state to state, whatever is scrolled. */
    const calm = matchMedia("(prefers-reduced-motion: reduce)");
    let state = 0;
    const place = () => {
      if (calm.matches) return state;
      const next = tops.findIndex((top) => top > scrollY + 0.5);
      if (next < 1) return next ? steps.length - 1 : 0;
      return next - 1 + (scrollY + 0.5 - tops[next - 1]) / (tops[next] - tops[next - 1]);
    };
    const count = html("output", {});
    const show = () => {
      if (!story.offsetParent) return; /* on paper */
      const at = place();
      state = Math.round(at);
      draw(at);
      write(count, `${state + 1} of ${steps.length}`);
      steps.forEach((one, i) => one.classList.toggle("story-now", i === state));
    };
    const go = (by) => {
      const to = Math.min(Math.max(Math.round(place()) + by, 0), steps.length - 1);
      if (!calm.matches) return scrollTo({ top: tops[to], behavior: "smooth" });
      state = to;
      show();
    };
    let asked = false;
    const follow = () => {
      if (!asked) requestAnimationFrame(() => ((asked = false), show()));
      asked = true;
    };
    /* It returns nothing: false would keep Tab, Space and all other keys from the page. */
    story.onkeydown = ({ key }) => {
      if (key === "ArrowRight") go(1);
      if (key === "ArrowLeft") go(-1);
    };
    const caption = story.closest("figure").querySelector("figcaption");
    const skip = button("Skip", () => {
      caption.tabIndex = -1;
      caption.focus();
    });
    stage.append(drawn, html("div", { class: "story-buttons" }, button("Back", () => go(-1)), button("Next", () => go(1)), count, skip));
    story.querySelector(".story-steps").setAttribute("aria-live", calm.matches ? "polite" : "off");
    calm.addEventListener("change", () => measure());
    addEventListener("scroll", follow, { passive: true });
    addEventListener("resize", measure);
    new ResizeObserver(measure).observe(document.body);
  };

  document.querySelectorAll("script[data-story]").forEach((script, nth) =>
    tell(script.closest(".story"), JSON.parse(script.textContent), nth));
})();
