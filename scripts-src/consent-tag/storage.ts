import { guard } from '../shared/guard';
import { Choice, parseChoice } from './choice';
import { config } from './config';

/** The key of the choice in the site's own storage. If storage is blocked, the next page asks again. */
export const KEY = `assent:${config.pixel}`;

export const loadChoice = (): Choice | null | void => {
  try {
    // A choice that cannot be removed must not be used. Storage that cannot remove entries throws here.
    localStorage.removeItem(KEY + '-');
    return parseChoice(localStorage.getItem(KEY));
  } catch {}
};

/** Stores a choice. If it cannot be written, an earlier one is removed. */
export const saveChoice = (choice: Choice): void => {
  const text = JSON.stringify(choice);
  guard(() => localStorage.setItem(KEY, text));
  guard(() => localStorage.getItem(KEY) === text || localStorage.removeItem(KEY));
};

/** Removes all entries about the visitor. */
export const forgetVisitor = (): void => {
  guard(() => ['', '+', '?'].forEach((end) => localStorage.removeItem(KEY + end)));
};

/**
 * Whether the visitor may have withdrawn on the service's page, or on another subdomain. The entry contains the time at which
 * the visitor opened that page.
 */
export const mayHaveWithdrawn = (): string | void => {
  try {
    return localStorage[KEY + '?'];
  } catch {}
};

/** The time at which an acceptance was sent. A tab that is closed before the answer leaves the entry. */
export const PENDING_KEY = KEY + '+';

/** True the first time in a tab. The entry contains nothing about the visitor. Without storage, every call returns true. */
export const isFirstInTab = (): boolean => {
  try {
    if (sessionStorage[KEY]) return false;
    sessionStorage[KEY] = 1;
  } catch {}
  return true;
};
