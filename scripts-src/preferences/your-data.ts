import type { TagConfig } from '../shared/config';
import { h } from '../shared/dom';
import { texts } from './texts';

/** The visitor whom this browser remembers, if it does. Storage is the page's: anything may stand there. */
const storedVisitor = (key: string): string | undefined => {
  try {
    const { visitor } = JSON.parse(localStorage.getItem(key) || '{}');
    return visitor && encodeURIComponent(visitor);
  } catch {
    return undefined;
  }
};

/**
 * The way to the visitor's own page. The ids travel behind the `#`, which no server is sent. From there they can withdraw
 * without this site's hearing of it, so opening it leaves a mark, the moment of that: the consent tag then asks the
 * service what holds.
 */
export const yourDataLink = ({ base, lang, pixel }: TagConfig): HTMLElement | undefined => {
  const key = `assent:${pixel}`;
  const visitor = storedVisitor(key);
  if (!visitor) return undefined;
  const noteOpened = (): void => localStorage.setItem(key + '?', '' + Date.now());
  return h(
    'a',
    {
      href: `${base}/your-data?lang=${lang}#pixel=${pixel}&visitor=${visitor}`,
      target: '_blank',
      rel: 'noopener noreferrer',
      onclick: noteOpened,
      // By the other buttons, a menu (on a phone after a long press) or by being dragged it opens as well.
      onauxclick: noteOpened,
      oncontextmenu: noteOpened,
      ondragstart: noteOpened,
    },
    texts.yourData,
  );
};
