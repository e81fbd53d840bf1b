import { guard } from '../shared/guard';
import { Choice, parseChoice } from './choice';
import { config } from './config';

/** One entry per pixel in the site's own storage. Blocked storage only means that the next page asks again. */
export const KEY = `assent:${config.pixel}`;

export const loadChoice = (): Choice | null => {
  try {
    // What could not be taken back must not be believed: storage that cannot remove says so here already.
    localStorage.removeItem(KEY + '-');
    return parseChoice(localStorage.getItem(KEY));
  } catch {
    return null;
  }
};

/** Where a choice cannot be written, an earlier one does not stay either. */
export const saveChoice = (choice: Choice): void => {
  const text = JSON.stringify(choice);
  guard(() => localStorage.setItem(KEY, text));
  guard(() => localStorage.getItem(KEY) === text || localStorage.removeItem(KEY));
};

/** Forgets the visitor. */
export const forgetVisitor = (): void => {
  guard(() => ['', '+', '?'].forEach((end) => localStorage.removeItem(KEY + end)));
};

/** When the visitor opened a page of the service on which they can withdraw: only the service knows then what holds. */
export const OPENED_KEY = KEY + '?';

export const mayHaveWithdrawn = (): boolean => {
  try {
    return !!localStorage[OPENED_KEY];
  } catch {
    return false;
  }
};

/** Since when an acceptance has been on its way. A tab that is closed meanwhile leaves this behind. */
export const PENDING_KEY = KEY + '+';

/** True the first time in a tab. The mark says nothing about the visitor; without storage every page is a first. */
export const isFirstInTab = (): boolean => {
  try {
    if (sessionStorage[KEY]) return false;
    sessionStorage[KEY] = 1;
  } catch {}
  return true;
};
