import { splitNames } from '../consent-tag/choice';
import { explain } from '../shared/explain';
import { type CategoryMap, NECESSARY } from './categories';

type Trusted = (text: string, create?: string) => string;

/** The marks of Cookiebot, vanilla-cookieconsent, Klaro and OneTrust. */
const MARKS = ['[data-cookieconsent]', '[data-category]', '[data-name]', '[class*=optanon-category-]'];
/** Marked elements that wait for consent. */
const FOREIGN = MARKS.map((mark) => `script[type="text/plain"]${mark},iframe${mark}`).join();
/** Marked elements that were not translated. Attributes such as `data-name` have other meanings too. */
const UNTRANSLATED = MARKS.map((mark) => `${mark}:not([data-assent])`).join();

/** The categories or services that an element names. All of them are needed. */
const categoriesOf = ({ dataset, className }: HTMLElement): string[] => {
  const optanon = /(?:^|\s)optanon-category-(\S+)/.exec(className);
  return splitNames(dataset.cookieconsent || dataset.category || dataset.name || optanon?.[1].replace(/-/g, ' '));
};

/** The categories for which an element waits, and the address that it loads then. */
const markOf = (element: HTMLElement): string => [element.dataset.cookieblockSrc, ...categoriesOf(element)].join();

/** The marks of each element that were translated. A framework may change the marks of an existing element. */
const translated = new WeakMap<Element, string>();
const reported = new WeakSet<Element>();

/** Gives waiting elements the attributes of gated ones. Those of unknown categories never run, and are reported. */
export const translateAll = (map: CategoryMap, base: string, trusted: Trusted): void => {
  document.querySelectorAll<HTMLElement>(FOREIGN).forEach((element) => {
    const mark = markOf(element);
    if (translated.has(element) ? translated.get(element) === mark : element.dataset.assent !== undefined) return;
    const isFrame = element.localName === 'iframe';
    const { dataset } = element;
    const source = dataset.cookieblockSrc || dataset.src;
    // A frame without such an address has loaded its content already, so it does not wait.
    if (isFrame && !source) return;
    translated.set(element, mark);
    const all = categoriesOf(element);
    const isKnown = (name: string): boolean => !!map[name.toLowerCase()];
    // Categories that other tools always permit are ignored if there are others.
    const categories = all.filter((name) => isKnown(name) || !NECESSARY.test(name));
    const unknown = categories.filter((name) => !isKnown(name));
    if (!categories[0]) {
      if (all[0]) explain(base, 'migrate', `an element waits for “${all}”, which visitors are not asked about. It is never loaded. If it needs no consent, write it without the markup of the other tool.`, element);
      dataset.assent = all.join(' ');
    } else if (unknown[0]) {
      explain(base, 'migrate', `an element waits for “${unknown}”, which is unknown. It is never loaded. Name its purpose: data-assent-compat="${unknown[0]}=PURPOSE".`, element);
      // The names are set so that the frame shows its placeholder.
      dataset.assent = unknown.join(' ');
    } else dataset.assent = categories.map((name) => map[name.toLowerCase()]).join(' ');
    if (isFrame) dataset.src = source;
    else {
      if (dataset.type === 'module') dataset.assentType = 'module';
      try {
        // A script that waits makes no request.
        if (source) element.setAttribute('src', trusted(source));
      } catch {
        explain(base, 'migrate', `the page’s Trusted Types forbid “${source}”. It is never loaded. Allow the policy “assent”.`, element);
      }
    }
  });
  document.querySelectorAll<HTMLElement>(UNTRANSLATED).forEach((element) => {
    if (!reported.has(element) && categoriesOf(element).some((name) => map[name.toLowerCase()])) reportUntranslated(element, base);
  });
};

/** Reports an element with a known category that has not waited, or that is neither a script nor a frame. */
const reportUntranslated = (element: HTMLElement, base: string): void => {
  const { dataset, localName } = element;
  const isLoaded = localName === 'script' || (localName === 'iframe' && element.hasAttribute('src'));
  if (!isLoaded && !(dataset.src || dataset.cookieblockSrc || dataset.cookieblockHref)) return;
  reported.add(element);
  const problem = isLoaded ? 'has not waited: scripts wait with type="text/plain", frames with data-src.' : 'is never loaded: only scripts and frames are.';
  explain(base, 'migrate', `a <${localName}> with the markup of another tool ${problem}`, element);
};
