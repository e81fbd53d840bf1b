import { splitNames } from '../consent-tag/choice';
import { explain } from '../shared/explain';
import { type CategoryMap, NECESSARY } from './categories';

type Trusted = (text: string, create?: string) => string;

/** The marks of Cookiebot, vanilla-cookieconsent, Klaro and OneTrust. */
const MARKS = ['[data-cookieconsent]', '[data-category]', '[data-name]', '[class*=optanon-category-]'];
/** Marked elements that wait. */
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

/** The marks that were translated. A framework may give an existing element others. */
const translated = new WeakMap<Element, string>();
const reported = new WeakSet<Element>();

/** Gives every waiting element the attributes of a gated one. What stays unknown never runs, and is reported. */
export const translateAll = (map: CategoryMap, base: string, trusted: Trusted): void => {
  document.querySelectorAll<HTMLElement>(FOREIGN).forEach((element) => {
    const mark = markOf(element);
    if (translated.has(element) ? translated.get(element) === mark : element.dataset.assent !== undefined) return;
    const isFrame = element.localName === 'iframe';
    const { dataset } = element;
    const source = dataset.cookieblockSrc || dataset.src;
    // A frame that shows its content already does not wait.
    if (isFrame && !source) return;
    translated.set(element, mark);
    const all = categoriesOf(element);
    const isKnown = (name: string): boolean => !!map[name.toLowerCase()];
    // Categories that other tools always permit are ignored beside others.
    const categories = all.filter((name) => isKnown(name) || !NECESSARY.test(name));
    const unknown = categories.filter((name) => !isKnown(name));
    if (!categories[0]) {
      if (all[0]) explain(base, 'migrate', `an element waits for “${all}”, which visitors are not asked about. It is never loaded. If it needs no consent, write it without the markup of the other tool.`, element);
      dataset.assent = all.join(' ');
    } else if (unknown[0]) {
      explain(base, 'migrate', `an element waits for “${unknown}”, which is unknown. It is never loaded. Name its purpose: data-assent-compat="${unknown[0]}=PURPOSE".`, element);
      // Named, so that the frame shows its placeholder.
      dataset.assent = unknown.join(' ');
    } else dataset.assent = categories.map((name) => map[name.toLowerCase()]).join(' ');
    if (isFrame) dataset.src = source;
    else {
      if (dataset.type === 'module') dataset.assentType = 'module';
      try {
        // A waiting script requests nothing.
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

/** Reports an element that has a known category and does not wait, or waits for nothing that is done here. */
const reportUntranslated = (element: HTMLElement, base: string): void => {
  const { dataset, localName } = element;
  const isLoaded = localName === 'script' || (localName === 'iframe' && element.hasAttribute('src'));
  if (!isLoaded && !(dataset.src || dataset.cookieblockSrc || dataset.cookieblockHref)) return;
  reported.add(element);
  const problem = isLoaded ? 'has not waited: scripts wait with type="text/plain", frames with data-src.' : 'is never loaded: only scripts and frames are.';
  explain(base, 'migrate', `a <${localName}> with the markup of another tool ${problem}`, element);
};
