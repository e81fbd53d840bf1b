import { guard } from '../shared/guard';
import { consentTypes } from './consent-types';
import { choice } from './session';

/** Pushes a command. Google's tags recognise commands only as `arguments` objects; they ignore arrays. */
const push = function (..._command: unknown[]): void {
  const page = window as unknown as Record<string, unknown[] | undefined>;
  guard(() => {
    const layer = document.querySelector<HTMLElement>('script[data-assent-layer]')?.dataset.assentLayer || 'dataLayer';
    (page[layer] || (page[layer] = [])).push(arguments);
  });
};

export const denyByDefault = (): void => push('consent', 'default', consentTypes([]));

let hasSignalled = false;

/** Sends an update after every choice, and on every page of a visitor who has made one. */
export const signalChoice = (): void => {
  if (choice || hasSignalled) push('consent', 'update', consentTypes(choice?.purposes || []));
  hasSignalled = !!choice;
};
