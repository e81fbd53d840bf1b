import { guard } from '../shared/guard';
import { load } from './load';

const reported = new WeakSet<Element>();

/** Reports an element to the page's developer, once, if it does not work as its attributes or the page suggest. */
export const report = (element: Element, code: 'frame' | 'kind' | 'purpose' | 'removed', detail = ''): void => {
  if (reported.has(element)) return;
  reported.add(element);
  guard(async () => (await load('hints')).hint(code, detail, element));
};
