import { gpc } from '../shared/gpc';
import { closeBanner, openBanner } from './banner';
import { frame } from './frame';
import { reportShown } from './record';
import { choice, unconfirmed, visitor } from './session';
import { isFirstInTab } from './storage';

/** Shows the banner if the visitor has not chosen, or else the small button that opens the preferences. */
export const applyUi = (): void => {
  if (choice || unconfirmed || gpc()) {
    // At the start of a page the small button waits until the page was laid out, which it would force otherwise.
    return frame ? closeBanner() : void requestAnimationFrame(() => setTimeout(() => frame || closeBanner(), 50));
  }
  // Reported after the banner was painted, so that the request does not delay the page.
  if (openBanner()) requestAnimationFrame(() => setTimeout(() => navigator.webdriver || (isFirstInTab() && reportShown(visitor())), 400));
};
