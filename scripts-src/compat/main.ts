import type { Session } from '../extras/session';
import type { BaseConfig } from '../shared/config';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { readMap } from './categories';
import { translateAll } from './markup';
import { hasRefusal } from './refusals';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

/** Attributes of other tools that frameworks may change later. Classes change too often to be observed. */
const OBSERVED = ['data-cookieblock-src', 'data-cookieconsent', 'data-category', 'data-name'];

let isStarted = false;

/** Whether this site's visitor has answered here before, under any policy. */
const hasAnswered = ({ choice, config }: Session): boolean => !!choice || !!localStorage[`assent:${config.pixel}`];

/**
 * Gives elements with the markup of another consent tool the attributes of this one. The first call also applies a refusal
 * that another tool has stored for a visitor who has not answered here. Acceptances are never taken over: they were given on
 * another notice.
 */
export const translate = async (tag: HTMLElement, session: Session): Promise<void> => {
  const map = readMap(tag.dataset.assentCompat!);
  translateAll(map, base, session.trusted);
  if (isStarted) return;
  isStarted = true;
  // The gate observes the attributes that this sets.
  const translateAgain = (): void => void guard(() => translateAll(map, base, session.trusted));
  new MutationObserver(translateAgain).observe(document, { attributeFilter: OBSERVED, subtree: true });
  if (!gpc() && !hasAnswered(session) && hasRefusal(map, tag.dataset.assentCompatCookie)) await session.decide('declined', []);
};
