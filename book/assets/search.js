// Finds the sections that hold all the words of a question. The sections come from a script that
// the build writes: `bookSections`, a list of [address, title, sections], each [anchor, title, text].
(() => {
  const field = document.getElementById("search-field");
  const list = document.getElementById("search-results");
  const status = document.getElementById("search-status");
  const MOST = 60, BEFORE = 60, LENGTH = 220;

  // Lower case, without accents; as long as the text, so that places in both are the same.
  const folded = (text) =>
    Array.from(text, (one) => {
      const plain = one.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
      return plain.length === one.length ? plain : one;
    }).join("");

  // A word is found where a word begins; in Korean anywhere, for words are joined there.
  const pattern = (word) => {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const start = /^[\p{L}\p{N}]/u.test(word) && !/\p{Script=Hangul}/u.test(word);
    return new RegExp((start ? "(?<![\\p{L}\\p{N}])" : "") + escaped, "gu");
  };

  const sections = window.bookSections.flatMap(([page, chapter, parts], order) =>
    parts.map(([anchor, title, text], place) => ({
      address: `${page}#${anchor}`, chapter, title, text, isWhole: place === 0,
      isTerm: anchor.startsWith("term-"),
      order: order + place / 1000, inTitle: folded(title), inText: folded(text),
    })),
  );

  function find(question) {
    const words = folded(question.normalize("NFC")).split(/\s+/).filter(Boolean);
    const patterns = words.map(pattern);
    if (!patterns.length) return { found: [], patterns };
    const found = [];
    for (const section of sections) {
      let titles = 0, times = 0, all = true;
      for (const one of patterns) {
        const title = (section.inTitle.match(one) || []).length;
        const text = (section.inText.match(one) || []).length;
        titles += title > 0;
        times += text;
        if (!title && !text) { all = false; break; }
      }
      // What is called just so comes first: the word of the glossary, then all else.
      const same = section.inTitle.split(" · ").includes(words.join(" "));
      if (all) found.push({ section, titles, times, exact: same && 1 + section.isTerm });
    }
    found.sort((a, b) =>
      b.exact - a.exact || b.titles - a.titles || Math.min(b.times, 9) - Math.min(a.times, 9) ||
      a.section.order - b.section.order);
    return { found, patterns };
  }

  function marked(element, text, plain, patterns) {
    const spans = patterns.flatMap((one) => [...plain.matchAll(one)].map((m) => [m.index, m.index + m[0].length]));
    spans.sort((a, b) => a[0] - b[0]);
    let done = 0;
    for (const [from, to] of spans) {
      if (from < done) continue;
      element.append(text.slice(done, from));
      const mark = document.createElement("mark");
      mark.textContent = text.slice(from, to);
      element.append(mark);
      done = to;
    }
    element.append(text.slice(done));
  }

  function excerpt({ text, inText }, patterns) {
    const first = Math.min(...patterns.map((one) => inText.search(one)).filter((at) => at >= 0), text.length);
    let from = first === text.length ? 0 : Math.max(0, first - BEFORE);
    if (from) from = text.indexOf(" ", from) + 1;
    let to = Math.min(text.length, from + LENGTH);
    if (to < text.length) to = Math.max(text.lastIndexOf(" ", to), from + LENGTH / 2);
    return [from, to];
  }

  function show() {
    const { found, patterns } = find(field.value);
    const items = found.slice(0, MOST).map(({ section }) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      link.href = section.address;
      marked(link, section.title, section.inTitle, patterns);
      item.append(link);
      if (!section.isWhole) {
        const chapter = document.createElement("span");
        chapter.className = "search-chapter";
        chapter.textContent = section.chapter;
        item.append(" ", chapter);
      }
      const [from, to] = excerpt(section, patterns);
      if (to > from) {
        const quoted = document.createElement("p");
        if (from) quoted.append("… ");
        marked(quoted, section.text.slice(from, to), section.inText.slice(from, to), patterns);
        if (to < section.text.length) quoted.append(" …");
        item.append(quoted);
      }
      return item;
    });
    list.replaceChildren(...items);
    const n = found.length;
    status.textContent = !patterns.length ? ""
      : !n ? "No section holds all of these words. Try fewer words, or the beginning of one."
      : `${n} ${n === 1 ? "section" : "sections"}${n > MOST ? `, the first ${MOST} are shown` : ""}`;
  }

  field.value = new URLSearchParams(location.search).get("q") || "";
  let waiting;
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 150); });
  show();
  if (!field.value) field.focus();
})();
