import { guard } from '../shared/guard';
import { load } from './load';

const reported = new WeakSet<Element>();

/** Tells the page's developer, once, of an element that does not do what its attributes or the page expect. */
export const report = (element: Element, code: 'frame' | 'kind' | 'purpose' | 'removed', detail = ''): void => {
  if (reported.has(element)) return;
  reported.add(element);
  guard(async () => (await load('hints')).hint(code, detail, element));
};
