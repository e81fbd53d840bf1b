import { Choice, parseChoice } from './choice';
import { config } from './config';

/** One entry per pixel in the site's own storage. Blocked storage only means that the next page asks again. */
export const KEY = `assent:${config.pixel}`;

export const recall = (): Choice | null => {
  try {
    return parseChoice(localStorage.getItem(KEY));
  } catch {
    return null;
  }
};

export const remember = (choice: Choice): void => {
  try {
    localStorage.setItem(KEY, JSON.stringify(choice));
  } catch {}
};

/** True the first time in a tab. The mark says nothing about the visitor; without storage every page is a first. */
export const firstInTab = (): boolean => {
  try {
    if (sessionStorage.getItem(KEY)) return false;
    sessionStorage.setItem(KEY, '1');
  } catch {}
  return true;
};
