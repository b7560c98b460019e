/* For the other scripts: elements of a page and of its drawings. */
window.pageElements = (() => {
  const made = (one, attributes, children) => {
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    one.append(...children);
    return one;
  };
  return {
    html: (name, attributes = {}, ...children) => made(document.createElement(name), attributes, children),
    svg: (name, attributes = {}, ...children) =>
      made(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children),
  };
})();
