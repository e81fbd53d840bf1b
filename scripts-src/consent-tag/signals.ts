import { guard } from '../shared/guard';
import { config } from './config';
import { consentTypes } from './consent-types';
import { extra } from './modules';
import { choice, restore } from './session';

/** Pushes a command. Google's tags recognise commands only as `arguments` objects; they ignore arrays. */
const push = function (..._command: unknown[]): void {
  const page = window as unknown as Record<string, unknown[] | undefined>;
  guard(() => {
    const layer = document.querySelector<HTMLElement>('[data-assent-layer]')?.dataset.assentLayer || 'dataLayer';
    (page[layer] || (page[layer] = [])).push(arguments);
  });
};

export const denyByDefault = (): void => push('consent', 'default', consentTypes([]));

let hasSignalled = false;

/**
 * Sends an update after every choice, and on every page of a visitor who has made one. A module notifies the vendors
 * that the page names in `data-assent-signals`, also of the denial before a choice.
 */
export const signalChoice = (): void => {
  const types = consentTypes(choice?.purposes || []);
  if (choice || hasSignalled) push('consent', 'update', types);
  hasSignalled = !!choice;
  if (document.querySelector('[data-assent-signals]')) extra('signal', types, choice, config, restore);
};
