// Finds the sections that hold the words of a question, those that hold most of them first. The sections come from a script that
// the build writes: `bookSections`, a list of [address, title, sections], each [anchor, title, text],
// and the terms that it introduces.
(() => {
  const field = document.getElementById("search-field");
  const list = document.getElementById("search-results");
  const status = document.getElementById("search-status");
  const MOST = 60, BEFORE = 60, LENGTH = 220, ENOUGH = 3;
  // Words of a question that say nothing of what it is about, unless it has no others.
  const STOP = new Set(("a an and are as at be been between by can could did do does for from get has have how i if in is it " +
    "its made make me mean means meaning my need not of on or our own should so that the their them there this to use using vs versus was " +
    "we what when where which who why will with would you your").split(" "));
  // What readers ask for, and what the book calls it.
  const OTHERWISE = {
    "adaptive ece": "equal mass", "classwise ece": "classwise", "class wise ece": "classwise", multiclass: "many classes",
    "multi class": "many classes", "multi label": "several labels", multilabel: "several labels", "model calibrated": "calibrate your own model", nll: "negative log likelihood", llm: "language models", llms: "language models",
    "large language models": "language models", chatgpt: "gpt 4", "t scaling": "temperature scaling", bins: "number of bins",
    "conformal prediction": "conformal set", "log loss": "negative log likelihood", ood: "when the images change",
    "distribution shift": "when the images change", "domain shift": "when the images change", slides: "teach", homework: "assignments",
  };

  // Lower case, without accents and hyphens; as long as the text, so that places in both are the same.
  const folded = (text) =>
    Array.from(text, (one) => {
      const plain = one.normalize("NFD").replace(/\p{M}/gu, "").replace(/[-\u2010-\u2013]/, " ").toLowerCase();
      return plain.length === one.length ? plain : one;
    }).join("");
  const isHangul = (word) => /\p{Script=Hangul}/u.test(word);

  // A word is found where a word begins, in the singular too; in Korean anywhere, and whatever is
  // written together, for both differ from writer to writer.
  const pattern = (word) => {
    const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (isHangul(word)) return new RegExp(Array.from(word, escape).join("\\s*"), "gu");
    // Of a short one the end as well: "log" is not the beginning of "logits".
    const end = word.length < 4 ? "s?(?![\\p{L}\\p{N}])" : "";
    return new RegExp((/^[\p{L}\p{N}]/u.test(word) ? "(?<![\\p{L}\\p{N}])" : "") + escape(singular(word)) + end, "gu");
  };
  const singular = (word) => (word.length > 4 ? word.replace(/([^s])s$/, "$1") : word);
  /* What differs in no more than plurals and in what is written together is the same name. */
  const core = (name) => name.split(/\s+/).map(singular).join("");

  // Chapters, other pages, those with lists, and last the module's names and the solutions.
  const rank = (page) =>
    /^notebooks\/[^/]+$/.test(page) ? 3 : /^(book\/api|notebooks\/solutions)\//.test(page) ? 0
      : /^book\/(benchmarks|changes|references)\./.test(page) ? 1 : 2;
  const sections = window.bookSections.flatMap(([page, chapter, parts], order) =>
    parts.map(([anchor, title, text, ...terms], place) => ({
      address: `${page}#${anchor}`, chapter, title, text, isWhole: place === 0,
      isTerm: anchor.startsWith("term-"), rank: rank(page),
      order: order + place / 1000, inTitle: folded(title), inText: folded(text), inTerms: folded(terms.join(" · ")),
      cores: [...title.replace(/^\d+\. /, "").split(" · "), ...terms].map((name) => core(folded(name))),
    })),
  );
  const has = (section, one) => section.inTitle.search(one) >= 0 || section.inText.search(one) >= 0;

  // Of a word that is nowhere, those of the book that differ from it by one letter.
  let vocabulary;
  const nearest = (word) => {
    if (word.length < 4 || isHangul(word)) return [];
    vocabulary ||= new Set(sections.flatMap((one) => `${one.inTitle} ${one.inText}`.match(/[\p{L}\p{N}]{3,}/gu) || []));
    const near = (other) => {
      if (Math.abs(other.length - word.length) > 1) return false;
      let from = 0, end = 0;
      while (from < word.length && word[from] === other[from]) from += 1;
      const most = Math.min(word.length, other.length) - from;
      while (end < most && word.at(-1 - end) === other.at(-1 - end)) end += 1;
      const [a, b] = [word.slice(from, word.length - end), other.slice(from, other.length - end)];
      return Math.max(a.length, b.length) < 2 || (a.length === 2 && a[0] === b[1] && a[1] === b[0]);
    };
    return [...vocabulary].filter(near);
  };

  // A term is asked for by its other English names, too: a Korean one, for the chapters are in English.
  const otherNames = (words) => {
    const asked = core(words.join(" "));
    const terms = sections.filter((one) => one.isTerm && one.cores.includes(asked));
    return terms.flatMap((one) => one.inTitle.split(" · "))
      .filter((name) => !isHangul(name) && core(name) !== asked).map((name) => name.split(" "));
  };
  const best = (a, b) =>
    b.exact - a.exact || b.held - a.held || b.score - a.score || Math.min(b.times, 9) - Math.min(a.times, 9) ||
    a.section.order - b.section.order;

  /* `isAsked`: whether they ask what something is, which a chapter tells at more length than the glossary. */
  function search(words, isAsked, least = words.length) {
    const patterns = words.map(pattern), whole = words.join(" "), found = [];
    for (const section of sections) {
      const held = patterns.filter((one) => has(section, one)).length;
      if (held < least) continue;
      const titles = patterns.filter((one) => section.inTitle.search(one) >= 0 || section.inTerms.search(one) >= 0).length;
      const times = patterns.reduce((sum, one) => sum + (section.inText.match(one) || []).length, 0);
      // What is called just so comes first: the word of the glossary, then the part of a chapter that
      // introduces it, which of a plural is the first; names of the module only if asked as code.
      const isNamed = section.cores.includes(core(whole));
      const isWord = isHangul(whole) || section.inTitle.split(" · ").includes(whole);
      const isTold = isAsked && section.isWhole && section.inTitle.startsWith(`${whole} `);
      const exact = isTold ? 2 : !isNamed ? 0 : section.isTerm ? (isWord && !isAsked ? 3 : 1)
        : 2 * (section.rank === 3 || /[_.]/.test(whole));
      const isPhrase = words.length > 1 && section.inTitle.includes(whole);
      const score = (3 * titles) / words.length + section.rank + 2 * isPhrase;
      found.push({ section, times, score, exact, held: held / words.length });
    }
    return { found, patterns };
  }

  function find(question) {
    const all = folded(question.normalize("NFC")).split(/[\s?!,;:"“”]+/).filter(Boolean);
    const isName = sections.some((one) => one.cores.includes(core(all.join(" ")))); // as "one versus rest"
    const telling = all.filter((word) => !STOP.has(word)), words = isName || !telling.length ? all : telling;
    const found = new Map(), patterns = [], isAsked = all[0] === "what" && all.length > 1;
    const ask = (others, least) => {
      const next = search(others, isAsked, least);
      next.found.forEach((one) => {
        const known = found.get(one.section), isOwn = others === words && one.exact > known?.exact;
        if (!known || isOwn || (isAsked && one.exact)) found.set(one.section, one);
      });
      patterns.push(...next.patterns);
    };
    const sorted = () => [...found.values()].sort(best);
    if (!words.length) return { found: [], patterns };
    const joined = words.join(" "), said = Object.keys(OTHERWISE).filter((name) => ` ${joined} `.includes(` ${name} `));
    const others = said.map((name) => joined.replace(name, OTHERWISE[name]).split(" "));
    [...others, words, ...otherNames(words)].forEach((one) => ask(one));
    // Too few with all of the words: those with most of them follow.
    if (words.length > 2 && found.size < ENOUGH) ask(words, Math.ceil((2 * words.length) / 3));
    if (found.size) return { found: sorted(), patterns };
    const unknown = words.filter((word) => !sections.some((one) => has(one, pattern(word))));
    const [word] = unknown, instead = unknown.length === 1 ? nearest(word) : [];
    instead.forEach((other) => ask(words.map((one) => (one === word ? other : one))));
    return { found: sorted(), patterns, instead: found.size ? `“${word}” is nowhere; for ${instead.map((one) => `“${one}”`).join(", ")}: ` : "" };
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
    const { found, patterns, instead = "" } = find(field.value);
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
      : !n ? "No section holds these words. Try fewer words, or the beginning of one."
      : `${instead}${n} ${n === 1 ? "section" : "sections"}${n > MOST ? `, the first ${MOST} are shown` : ""}`;
  }

  field.value = new URLSearchParams(location.search).get("q") || "";
  let waiting;
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(show, 150); });
  show();
  if (!field.value) field.focus();
})();
