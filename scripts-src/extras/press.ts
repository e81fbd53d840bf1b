type Handlers = { ontouchend?: (() => void) | null; ontouchmove?: (() => void) | null };

/** Performs a press in the popup whose event a listener of the page has cancelled. */
export const press = ({ type, key }: { type: string; key?: string }, target: HTMLElement): void => {
  const isKey = type === 'keydown' && (key === ' ' || key === 'Enter');
  if (isKey || type === 'touchend') target.click();
  if (type !== 'touchstart') return;
  const handlers = target as Handlers;
  const reset = (): void => void (handlers.ontouchend = handlers.ontouchmove = null);
  handlers.ontouchmove = reset;
  handlers.ontouchend = () => {
    reset();
    target.click();
  };
};
