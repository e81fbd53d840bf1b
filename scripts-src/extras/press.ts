import type { Press } from '../shared/elements';

type Handlers = { ontouchend?: (() => void) | null; ontouchmove?: (() => void) | null };

/**
 * Performs a press in the popup whose event a listener of the page has cancelled. A click that a script makes would count
 * as the page's own choice, so a button receives the visitor's press.
 */
export const press = ({ type, key, isTrusted }: { type: string; key?: string; isTrusted: boolean }, target: HTMLElement): void => {
  const isKey = type === 'keydown' && (key === ' ' || key === 'Enter');
  const click = (): void => {
    if (target.localName === 'button') (target.onclick as (event: Press) => void)({ isTrusted, detail: isKey ? 0 : 1, key });
    else target.click();
  };
  if (isKey || type === 'touchend') click();
  if (type !== 'touchstart') return;
  const handlers = target as Handlers;
  const reset = (): void => void (handlers.ontouchend = handlers.ontouchmove = null);
  handlers.ontouchmove = reset;
  handlers.ontouchend = () => {
    reset();
    click();
  };
};
