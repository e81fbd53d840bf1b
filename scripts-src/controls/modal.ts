import { h, showIn } from '../shared/dom';

/**
 * Shows the popup in a modal dialog while that is needed: on a page that is inert as a whole, only a modal dialog is
 * usable.
 */
export const showInModal = (frame: HTMLElement, isPopupShown: () => boolean): void => {
  const root = frame.getRootNode() as ShadowRoot;
  if (!isPopupShown()) return;
  const modal = h('dialog', { 'aria-label': document.title, oncancel: (event: Event) => event.preventDefault() });
  modal.style.cssText = 'all:initial;position:fixed';
  root.append(modal);
  modal.append(frame);
  modal.showModal();
  // Shown again, so that the frame is above the dialog in the top layer.
  frame.showPopover?.();
  const observer = new MutationObserver(() => {
    if (root.host.closest('[inert]') && isPopupShown()) return;
    observer.disconnect();
    root.append(frame);
    modal.remove();
    showIn(frame, document.body);
  });
  observer.observe(document, { attributeFilter: ['inert'], subtree: true });
  observer.observe(frame, { childList: true });
};
