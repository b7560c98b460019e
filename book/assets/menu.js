/* The menu shows which page one is on, also after a jump from elsewhere, for which the theme would
   leave it scrolled as it was. */
(() => {
  "use strict";
  const show = () => {
    const current = [...document.querySelectorAll(".bd-docs-nav li.active > a")].at(-1), part = current?.closest("details");
    if (part) part.open = true;
    if (current) current.style.scrollMargin = "3rem";
    current?.scrollIntoView({ block: "nearest" });
  };
  addEventListener("DOMContentLoaded", show);
  /* Paper is white, whatever the page was. */
  const page = document.documentElement;
  let theme = "light";
  addEventListener("beforeprint", () => { theme = page.dataset.theme; page.dataset.theme = "light"; });
  addEventListener("afterprint", () => { page.dataset.theme = theme; });
  /* On a phone, once it is open. */
  document.querySelectorAll(".primary-toggle").forEach((one) => one.addEventListener("click", () => requestAnimationFrame(show)));
  /* Code that scrolls is a stop of the Tab key, also once its fold is open: the theme looks at loading alone. */
  const sizes = new ResizeObserver((seen) =>
    seen.forEach(({ target: one }) => { one.tabIndex = one.scrollWidth > one.clientWidth ? 0 : -1; }));
  addEventListener("DOMContentLoaded", () => document.querySelectorAll("pre").forEach((one) => sizes.observe(one)));
})();
