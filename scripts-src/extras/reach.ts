import { h, hostOf, place } from '../shared/dom';
import { makeWay } from './button';

/** What is shown of ours at this moment. */
const shownIn = (frame: HTMLElement): HTMLElement | null => frame.querySelector('dialog,.p,.w:not([hidden])');

/** Whether a press on what is shown, and a screen reader, would come there. */
const isReachable = (frame: HTMLElement): boolean => {
  const shown = shownIn(frame);
  const host = hostOf(frame);
  if (!shown) return true;
  if (host.closest('[aria-hidden=true]')) return false;
  const { left, top, width, height } = shown.getBoundingClientRect();
  const hit = (host.getRootNode() as Document).elementsFromPoint(left + width / 2, top + height / 2);
  // Covered by something else is not out of reach: inert elements are not among those under a point at all.
  return hit.includes(host);
};

/** Where it can be, the best place first: what is modal makes everything outside of it inert. */
const places = (): Element[] => {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
  const modal = [active?.closest('dialog:modal'), ...[...document.querySelectorAll('dialog:modal')].reverse()];
  return [...modal, document.body, document.documentElement].filter(Boolean) as Element[];
};

/**
 * Brings what is shown within reach of the visitor, on a page that has made its body, all children of its body, or all but
 * its own dialog inert or hidden.
 */
export const reach = (frame: HTMLElement): void => {
  const host = hostOf(frame);
  // The first frame of what appears takes no presses anyway.
  if (frame.style.opacity) return void setTimeout(reach, 100, frame);
  const button = frame.querySelector<HTMLElement>('.w');
  if (isReachable(frame)) return button ? makeWay(button) : undefined;
  const focused = (frame.getRootNode() as ShadowRoot).activeElement as HTMLElement | null;
  host.inert = false;
  host.removeAttribute('aria-hidden');
  if (!isReachable(frame) && !places().some((parent) => (place(frame, parent), isReachable(frame)))) rise(frame);
  focused?.focus();
};

/** In a page that is inert as a whole only a modal dialog can be used: the question lies in one for as long as it needs to. */
const rise = (frame: HTMLElement): void => {
  const root = frame.getRootNode() as ShadowRoot;
  const isAsking = (): boolean => !!shownIn(frame)?.matches('dialog,.p');
  if (!isAsking()) return;
  const modal = h('dialog', { 'aria-label': document.title, oncancel: (event: Event) => event.preventDefault() });
  modal.style.cssText = 'all:initial;position:fixed';
  root.append(modal);
  modal.append(frame);
  modal.showModal();
  // Now that it is inside, above it.
  frame.showPopover?.();
  const observer = new MutationObserver(() => {
    if (root.host.closest('[inert]') && isAsking()) return;
    observer.disconnect();
    root.append(frame);
    modal.remove();
    place(frame, document.body);
  });
  observer.observe(document, { attributeFilter: ['inert'], subtree: true });
  observer.observe(frame, { childList: true });
};
