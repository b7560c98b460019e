/* The arrow keys turn the slides, and show their steps. */
addEventListener("keydown", (event) => {
  const slides = [...document.querySelectorAll(".slide")];
  const now = slides.findIndex((one) => one.getBoundingClientRect().bottom > innerHeight / 2);
  const by = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  const next = by > 0 && slides[now].querySelector(".later:not(.shown)");
  if (next) next.classList.add("shown");
  else slides[Math.min(Math.max(now + by, 0), slides.length - 1)].scrollIntoView();
});
