(() => {
  const MAX_ADDRESSES = 100;
  const MAX_ELEMENTS = 200;
  const MAX_ADDRESS = 4000;
  const MAX_ATTRIBUTES = 1000;
  // An element named `querySelectorAll` would hide the document's own method.
  const find = (selector, most) => [...Document.prototype.querySelectorAll.call(document, selector)].slice(0, most);
  // With half of a character at its end, the whole answer could not be read.
  const cut = (text) => text.slice(0, MAX_ADDRESS).replace(/[\ud800-\udbff]$/, '');
  const address = (element) => cut(String(element.href || element.data || element.src));
  // A text of its own, because attributes may contain such halves.
  const attributes = (element) => {
    const others = [...element.attributes].filter(({ name }) => name !== 'src' && name !== 'nonce');
    const length = others.reduce((sum, { name, value }) => sum + name.length + value.length, 0);
    if (length > MAX_ATTRIBUTES) return '';
    return JSON.stringify(Object.fromEntries(others.map(({ name, value }) => [name, value])));
  };
  const named = [
    ['object', 'object,embed'],
    ['icon', 'link[rel~=icon i][href]'],
    ['manifest', 'link[rel~=manifest i][href]'],
  ].flatMap(([kind, selector]) => find(selector, MAX_ADDRESSES).map((element) => [kind, address(element)]));
  // Elements with `data-assent` wait already.
  const loading = [
    ['script', 'script[src]:not([data-assent])'],
    ['frame', 'iframe[src]:not([data-assent], [srcdoc])'],
  ].flatMap(([kind, selector]) =>
    find(selector, MAX_ELEMENTS).map((element) => [kind, address(element), attributes(element)]),
  );
  return [...named, ...loading];
})()
