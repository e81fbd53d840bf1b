/**
 * Loads the identification tag of a pixel. The element is created, never written, so that
 * `strict-dynamic` lets it through. Its `data-assent` lets it declare what it stores, by setting
 * `document.currentScript.dataset.assentCookies`.
 */
export const loadIdentification = (base: string, pixel: string, loaded: () => void): HTMLScriptElement => {
  const script = document.createElement('script');
  script.src = `${base}/pixels/${pixel}/p.js`;
  script.dataset.assent = 'resolution';
  script.onload = loaded;
  document.head.append(script);
  return script;
};
