/* A figure that computes while a reader holds it: the bars of a reliability diagram. All that a mouse can do, the
   sliders can. */
(() => {
  "use strict";
  const { html, svg, text, line, halves, button, numbers } = pageElements;
  const percent = (share) => `${(100 * share).toFixed(1)}\u00a0%`;
  const clip = (value, low, high) => Math.min(Math.max(value, low), high);

  /* A slider with its name and its value beside it. No label is around both: it would name the value. */
  let sliders = 0;
  const slider = (name, low, high, step, value, shown, moved) => {
    const id = `playground-slider-${(sliders += 1)}`;
    const input = html("input", { type: "range", id, min: low, max: high, step, value });
    const output = html("output", { for: id, class: "play-value" }, shown(value));
    const set = (next) => {
      input.value = next;
      output.textContent = shown(+input.value);
      input.style.setProperty("--play-at", (input.value - low) / (high - low));
      input.setAttribute("aria-valuetext", output.textContent);
    };
    set(value);
    input.oninput = () => (set(input.value), moved(+input.value));
    return { set, input, line: html("div", { class: "playground-slider" }, html("label", { for: id }, name), " ", output, input) };
  };
  /* What to reach: first a guess, then by hand; `reached` says when it is done, and why comes after both. */
  const tasks = (all) => {
    const lines = all.map(({ task, ask, why }) => {
      const state = html("span", { class: "playground-state", role: "status" }), reason = html("p", { hidden: "" }, why);
      const guesses = ["Yes", "No"].map((words) => {
        const one = button(words, () => {
          guesses.forEach((other) => other.setAttribute("aria-pressed", other === one));
          if (reason.hidden) state.textContent = "Now try it.";
          check();
        }, { "aria-pressed": "false" });
        return one;
      });
      return { state, reason, guesses, line: html("li", {}, html("p", {}, task), html("p", {}, ask, " ", ...guesses, " ", state), reason) };
    });
    const check = () => all.forEach(({ reached }, i) => {
      const { state, reason, guesses } = lines[i];
      if (!reason.hidden || !reached()) return;
      reason.hidden = !guesses.some((one) => one.getAttribute("aria-pressed") === "true");
      state.textContent = reason.hidden ? "Done. What would you have guessed?" : "Done.";
    });
    return { check, list: html("ol", { class: "playground-tasks" }, ...lines.map(({ line }) => line)) };
  };

  /* Five bins; a bin's predictions all have the confidence in its middle. */
  const bars = (stage) => {
    const M = 5, MOST = 100, FOOT = 60, middle = (m) => (m + 0.5) / M;
    const start = [[20, 0.1], [20, 0.3], [20, 0.4], [20, 0.5], [20, 0.7]];
    const state = start.map((bin) => [...bin]);
    const measured = () => {
      const n = state.reduce((sum, [count]) => sum + count, 0);
      const gaps = state.map(([count, accuracy], m) => (count ? Math.abs(accuracy - middle(m)) : 0));
      const mean = (of) => (n ? state.reduce((sum, [count, accuracy], m) => sum + count * of(accuracy, m), 0) / n : 0);
      return {
        n, ece: mean((_, m) => gaps[m]), mce: Math.max(...gaps),
        brier: 2 * mean((a, m) => a * (1 - middle(m)) ** 2 + (1 - a) * middle(m) ** 2), /* of both classes */
        accuracy: mean((a) => a), confidence: mean((_, m) => middle(m)),
      };
    };
    const across = (share) => 40 + 288 * share, up = (share) => 300 - 220 * share;
    const drawn = svg("svg", { viewBox: "0 0 340 350", role: "img" });
    const shown = html("dl", { class: "play-numbers" }), first = measured();
    const todo = tasks([
      {
        task: "Make a classifier with an ECE of 0 that is of no use: all its predictions have the same confidence.",
        ask: "Is that possible?",
        why: "It is. Put all predictions into one bin whose accuracy is its confidence. It is calibrated, and it cannot tell the images that it classifies correctly from the others.",
        reached: () => measured().ece < 0.005 && state.filter(([count]) => count).length === 1,
      },
      {
        task: "Keep the ECE of the start, to half a point, and raise the MCE by at least 20 points.",
        ask: "Is that possible?",
        why: "It is. A wide gap in a bin with few predictions hardly moves the mean, and is the maximum.",
        reached: () => Math.abs(measured().ece - first.ece) < 0.005 && measured().mce >= first.mce + 0.2,
      },
      {
        task: "Bring the ECE to 0, and the Brier score below 0.2.",
        ask: "Does an ECE of 0 bring the Brier score to 0, too?",
        why: "It does not. What is left is uncertainty: predictions of 0.5 cost 0.5 each, however calibrated they are. Only confidences near 0 or 1 that deserve it bring the score down.",
        reached: () => measured().ece < 0.005 && measured().brier < 0.2 && measured().n > 0,
      },
    ]);
    const knobs = state.map(([count, accuracy], m) => {
      const range = `${m / M} to ${(m + 1) / M}`;
      return [
        slider(`Accuracy, bin ${range}:`, 0, 1, 0.01, accuracy, percent, (to) => ((state[m][1] = to), draw())),
        slider(`Predictions, bin ${range}:`, 0, MOST, 1, count, String, (to) => ((state[m][0] = to), draw())),
      ];
    });
    const draw = () => {
      const found = measured(), parts = [];
      parts.push(...halves(40, 328, up));
      for (let m = 0; m <= M; m += 1) parts.push(text(across(m / M), 318, String(m / M), "play-middle"));
      parts.push(text(184, 342, "Confidence", "play-middle"), text(4, 14, "Predictions in each bin"), text(44, 75, "Accuracy"));
      state.forEach(([count, accuracy], m) => {
        const x = across(m / M) + 1, width = 288 / M - 2, height = 40 * (count / MOST);
        parts.push(svg("rect", { x, y: FOOT - height, width, height, class: "play-count" }));
        if (!count) return;
        parts.push(svg("rect", { x, y: up(accuracy), width, height: 300 - up(accuracy), class: "play-bar" }));
        parts.push(line(x + width / 2, up(accuracy), x + width / 2, up(middle(m)), "play-line play-b"));
      });
      parts.push(line(40, 300, 328, 80, "play-diagonal"));
      drawn.replaceChildren(...parts);
      drawn.setAttribute("aria-label", state.map(([count, a], m) => `bin ${m + 1}: ${count} predictions, accuracy ${percent(a)}`).join("; "));
      shown.replaceChildren(...numbers({ ECE: percent(found.ece), MCE: percent(found.mce), "Brier score": found.brier.toFixed(3),
        accuracy: percent(found.accuracy), "mean confidence": percent(found.confidence) }));
      todo.check();
    };
    /* In a bin, above 70 units the pointer sets how many predictions there are, below it the accuracy. */
    const drag = (event) => {
      const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(drawn.getScreenCTM().inverse());
      const m = clip(Math.floor(((place.x - 40) / 288) * M), 0, M - 1);
      if (held === null) held = place.y < 70 ? 1 : 0;
      const value = held ? Math.round(clip(((FOOT - place.y) / 40) * MOST, 0, MOST)) : Math.round(clip((300 - place.y) / 220, 0, 1) * 100) / 100;
      state[m][held ? 0 : 1] = value;
      knobs[m][held].set(value);
      draw();
    };
    let held = null;
    drawn.onpointerdown = (event) => (drawn.setPointerCapture(event.pointerId), drag(event));
    drawn.onpointermove = (event) => event.buttons && held !== null && drag(event);
    drawn.onpointerup = drawn.onpointercancel = () => (held = null);
    const again = button("As at the start", () => {
      start.forEach(([count, accuracy], m) => ((state[m] = [count, accuracy]), knobs[m][0].set(accuracy), knobs[m][1].set(count)));
      draw();
    });
    draw();
    stage.append(html("div", { class: "play-panels" }, drawn), shown, again,
      html("details", {}, html("summary", {}, "Sliders for all bars"), ...knobs.flat().map(({ line }) => line)), todo.list);
  };

  document.querySelectorAll(".playground-bars").forEach(bars);
})();
