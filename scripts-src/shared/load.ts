import { h } from './dom';

const identity = (text: string): string => text;
let policy: Record<string, typeof identity> | undefined;

/**
 * Converts a text, by default the address of a script, to a trusted type on pages that require Trusted Types. Throws
 * where the page does not allow our policy.
 */
export const trusted = (text: string, create = 'createScriptURL'): string => {
  const { trustedTypes } = window as any;
  if (!trustedTypes) return text;
  policy = policy || trustedTypes.createPolicy('assent', { createScriptURL: identity, createScript: identity, createHTML: identity });
  return policy![create](text);
};

/** Loads a script. The element is created, not written as markup, because `strict-dynamic` allows only that. */
export const loadScript = (url: string): HTMLScriptElement => {
  const script = h('script', { src: trusted(url) });
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

/** Prevents a requested script from running: a script whose document has changed before it arrives is not run. */
export const cancelScript = (script: Element): undefined => void new Document().adoptNode(script);
