import { hostOf, showIn } from '../shared/dom';
import { guard } from '../shared/guard';
import { load } from './load';
import { report } from './report';

/** The visible part of the interface. */
const shownIn = (frame: HTMLElement): HTMLElement | null => frame.querySelector('dialog,.p,.w:not([hidden])');

/** Whether presses and screen readers can reach the visible part. */
const isReachable = (frame: HTMLElement): boolean => {
  const shown = shownIn(frame);
  const host = hostOf(frame);
  if (!shown) return true;
  if (host.closest('[aria-hidden=true]')) return false;
  const { left, top, width, height } = shown.getBoundingClientRect();
  const hits = (host.getRootNode() as Document).elementsFromPoint(left + width / 2, top + height / 2);
  // An element covered by another one still counts as reachable: inert elements are not listed at a point at all.
  return hits.includes(host);
};

/** Possible parents, the best first. Everything outside a modal dialog is inert. */
const candidateParents = (): Element[] => {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  // Includes dialogs that are not modal, because older browsers do not support `:modal`.
  const open = [active?.closest('dialog[open]'), ...[...document.querySelectorAll('dialog[open]')].reverse()];
  return [...open, document.body, document.documentElement].filter(Boolean) as Element[];
};

/**
 * Makes the interface reachable on a page that has made its body, all children of its body, or everything but its own
 * dialog inert or hidden.
 */
export const reach = (frame: HTMLElement): void => {
  const host = hostOf(frame);
  if (!host.isConnected) return report(host, 'removed');
  // The interface ignores presses while it is transparent, so it is checked again later.
  if (frame.matches('.i')) return void setTimeout(reach, 100, frame);
  const button = frame.querySelector<HTMLElement>('.w');
  if (isReachable(frame)) {
    if (button) guard(async () => (await load('controls')).clearControls(button));
    return;
  }
  const focused = (frame.getRootNode() as ShadowRoot).activeElement as HTMLElement | null;
  host.inert = false;
  host.removeAttribute('aria-hidden');
  if (!isReachable(frame) && !candidateParents().some((parent) => (showIn(frame, parent), isReachable(frame)))) {
    void guard(async () => {
      (await load('controls')).showInModal(frame, () => !!shownIn(frame)?.matches('dialog,.p'));
      focused?.focus();
    });
  }
  focused?.focus();
};
