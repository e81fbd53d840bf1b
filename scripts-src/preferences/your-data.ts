import type { TagConfig } from '../shared/config';
import { h } from '../shared/dom';
import { texts } from './texts';

/** The stored visitor id, if there is one. The page can write anything to its storage. */
const storedVisitor = (key: string): string | undefined => {
  try {
    const { visitor } = JSON.parse(localStorage.getItem(key) || '{}');
    return visitor && encodeURIComponent(visitor);
  } catch {
    return undefined;
  }
};

/**
 * A link to the visitor's own page. The ids are in the fragment, which browsers do not send to servers. Visitors can
 * withdraw on that page without this site being notified, so opening it stores the time: the consent tag then asks the
 * service for the state.
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
      // The other mouse buttons, a menu (on a phone after a long press) and dragging can open it as well.
      onauxclick: noteOpened,
      oncontextmenu: noteOpened,
      ondragstart: noteOpened,
    },
    texts.yourData,
  );
};
