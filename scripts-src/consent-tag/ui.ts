import { gpc } from '../shared/gpc';
import { closeBanner, openBanner } from './banner';
import { reportShown } from './record';
import { choice, unconfirmed, visitor } from './session';
import { isFirstInTab } from './storage';

/** Shows the banner if the visitor has not chosen, or else the small button that opens the preferences. */
export const applyUi = (): void => {
  if (choice || unconfirmed || gpc()) return closeBanner();
  // Reported after the banner was painted, so that the request does not delay the page.
  if (openBanner()) requestAnimationFrame(() => setTimeout(() => navigator.webdriver || (isFirstInTab() && reportShown(visitor())), 400));
};
