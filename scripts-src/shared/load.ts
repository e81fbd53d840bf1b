let policy: { createScriptURL(url: string): string } | undefined;

/** The address as a page wants it that demands Trusted Types. Where it does not allow our policy, this throws. */
const trusted = (url: string): string => {
  const { trustedTypes } = window as any;
  if (!trustedTypes) return url;
  policy = policy || trustedTypes.createPolicy('assent', { createScriptURL: (same: string) => same });
  return policy!.createScriptURL(url);
};

/** Loads a script. The element is created, never written, so that `strict-dynamic` lets it through. */
export const loadScript = (url: string): HTMLScriptElement => {
  const script = document.createElement('script');
  script.src = trusted(url);
  document.head.append(script);
  return script;
};

/**
 * Loads the identification tag of a pixel. Its `data-assent` lets it declare what it stores, by setting
 * `document.currentScript.dataset.assentCookies`.
 */
export const loadIdentification = (base: string, pixel: string, loaded: () => void): HTMLScriptElement => {
  const script = loadScript(`${base}/pixels/${pixel}/p.js`);
  script.dataset.assent = 'resolution';
  script.onload = loaded;
  return script;
};

/** Keeps a script from running that has been asked for: none does that has changed its document before it arrives. */
export const takeBack = (script: Element): undefined => void new Document().adoptNode(script);
