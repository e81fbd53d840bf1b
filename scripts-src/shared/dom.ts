/** The name of our element on the page. */
export const HOST = 'assent-ui';

type Child = Node | string | false | undefined;

/**
 * Builds an element. Names that are properties of it are set as such, all others as attributes. There is no markup
 * in strings anywhere, so no text can ever turn into markup.
 */
export const h = <K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props?: Record<string, unknown> | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] => {
  const element = document.createElement(tag);
  for (const name in props) {
    if (name in element) (element as unknown as Record<string, unknown>)[name] = props[name];
    else element.setAttribute(name, props[name] as string);
  }
  element.append(...(children.filter(Boolean) as (Node | string)[]));
  return element;
};

/**
 * Transparent in its first frame: browsers do not count what appears so as the page's largest paint, which is the page's
 * own affair. For that the frame is a layer of its own (`will-change`), else it would be painted anew. Done by hand,
 * because a browser needs a frame more to get an animation going. What cannot be seen yet cannot be pressed.
 */
export const hideFirstFrame = (frame: HTMLElement): void => {
  frame.style.cssText = 'opacity:0;pointer-events:none';
  requestAnimationFrame(() => setTimeout(() => frame.removeAttribute('style')));
};

/** The host element that contains this frame. */
export const hostOf = (frame: HTMLElement): HTMLElement => (frame.getRootNode() as ShadowRoot).host as HTMLElement;

/** Whether the page may keep visitors in a part of it. */
export const isTrapped = (): unknown => document.querySelector('[inert],[aria-modal=true],dialog[open]');

/**
 * Moves a frame and its host to the end of an element, and shows it in the top layer, where no element of the page covers
 * or moves it.
 */
export const showIn = (frame: HTMLElement, parent: Element): void => {
  parent.append(hostOf(frame));
  // Browsers before 2024 have no popovers; there the highest `z-index` has to do.
  frame.showPopover?.();
  const dialog = frame.querySelector('dialog');
  if (dialog) {
    dialog.open = false;
    dialog.showModal();
  }
};

/** Attaches a frame to the end of the body, where frameworks that hydrate a document expect foreign elements. */
export const attach = (frame: HTMLElement): void => {
  // A framework's cached copy of a page contains our host without its shadow root.
  document.querySelectorAll(HOST).forEach((host) => host.shadowRoot || host.remove());
  hideFirstFrame(frame);
  showIn(frame, document.body);
};

/** A page that takes the host away at once, this often, is left alone. */
const MAX_REMOVALS = 5;

/**
 * A host with a shadow root, and the frame for everything in it. It comes back when the page's framework swaps the body
 * or the whole document. `onChange` is called when the page may have put it out of reach.
 */
export const mountHost = (css: string, lang: string, dir: string, onChange?: () => void): HTMLElement => {
  const root = document.createElement(HOST).attachShadow({ mode: 'open' });
  try {
    // A constructed sheet is not inline style: a strict content security policy has nothing against it.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
  } catch (error) {
    // Safari before 16.4 and Firefox before 101 construct none. Where there are no dialogs either, nothing could be
    // chosen: there nobody is asked, and nothing is loaded.
    if (!window.HTMLDialogElement) throw error;
    root.append(h('style', null, css));
  }
  const frame = h('div', { className: 'a', lang, dir, popover: 'manual' });
  root.append(frame);
  attach(frame);

  let removals = 0;
  let lastRemoval = 0;
  new MutationObserver(() => {
    if (frame.isConnected) return onChange?.();
    if (!document.body || removals > MAX_REMOVALS) return;
    if (Date.now() - lastRemoval < 1e3) removals++;
    lastRemoval = Date.now();
    attach(frame);
  }).observe(document, { childList: true, subtree: true, attributes: true });
  return frame;
};
