import { gpc } from '../shared/gpc';
import { closeBanner, openBanner } from './banner';
import { reportShown } from './record';
import { choice, unconfirmed, visitor } from './session';
import { isFirstInTab } from './storage';

/** Shows what fits the state of things: the question, the way back to it, or, under Global Privacy Control, nothing. */
export const applyUi = (): void => {
  if (choice || unconfirmed || gpc()) return closeBanner();
  // Not before it has been painted, and never in the way of the page.
  if (openBanner()) requestAnimationFrame(() => setTimeout(() => navigator.webdriver || (isFirstInTab() && reportShown(visitor())), 400));
};
