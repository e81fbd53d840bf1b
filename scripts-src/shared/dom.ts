/** The name of the service's element on the page. */
export const HOST = 'assent-ui';

type Child = Node | string | false | undefined;

/**
 * Builds an element. Names of its properties are set as properties, all others as attributes. Nothing is built from strings
 * of markup, so a text is never parsed as markup.
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
 * Makes the element transparent and ignore presses in its first frame, so that browsers do not count it as the page's
 * largest paint. It has a layer of its own (`will-change`), because it would be painted again otherwise. An animation would
 * take one frame longer to start.
 */
export const hideFirstFrame = (frame: HTMLElement): void => {
  frame.className = 'a i';
  requestAnimationFrame(() => setTimeout(() => (frame.className = 'a')));
};

/** The host element that contains this frame. */
export const hostOf = (frame: HTMLElement): HTMLElement => (frame.getRootNode() as ShadowRoot).host as HTMLElement;

/** Whether the page may confine visitors to a part of it. */
export const isTrapped = (): unknown => document.querySelector('[inert],[aria-modal=true],dialog[open]');

/**
 * Moves a frame and its host to the end of an element, and shows it in the top layer, where no element of the page covers
 * or moves it.
 */
export const showIn = (frame: HTMLElement, parent: Element): void => {
  parent.append(hostOf(frame));
  // Browsers before 2024 have no popovers. There the frame relies on the highest `z-index`.
  frame.showPopover?.();
  const dialog = frame.querySelector('dialog');
  if (dialog) {
    dialog.open = false;
    dialog.showModal();
  }
};

/** Attaches a frame to the end of the body, where frameworks that hydrate a document expect foreign elements. */
export const attach = (frame: HTMLElement): void => {
  // A framework's cached copy of a page contains the host without its shadow root.
  document.querySelectorAll(HOST).forEach((host) => host.shadowRoot || host.remove());
  showIn(frame, document.body);
};

/** If a page has removed the host this often, each time within a second of the last, it is not attached again. */
const MAX_REMOVALS = 5;

/**
 * Adds a host with a shadow root to the page, and returns the frame in it. The frame is attached again when a framework
 * replaces the body or the whole document. `onChange` is called when a change of the page may have made it unreachable, also
 * when it is not attached any more.
 */
export const mountHost = (css: string, lang: string, dir: string, onChange?: () => void): HTMLElement => {
  // Throws in browsers without dialogs, which cannot show the preferences. There visitors are not asked, and nothing is
  // loaded.
  void HTMLDialogElement;
  const root = document.createElement(HOST).attachShadow({ mode: 'open' });
  const frame = h('div', { className: 'a', lang, dir, popover: 'manual' });
  root.append(frame);
  // The style follows, because the browser computes all styles when it shows a popover.
  attach(frame);
  try {
    // A strict content security policy allows constructed style sheets, but not inline styles.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    root.adoptedStyleSheets = [sheet];
  } catch {
    // Safari before 16.4 and Firefox before 101 have no constructed style sheets.
    root.append(h('style', null, css));
  }

  let removals = 0;
  let lastRemoval = 0;
  new MutationObserver(() => {
    if (frame.isConnected || removals > MAX_REMOVALS) return onChange?.();
    if (!document.body) return;
    removals = Date.now() - lastRemoval < 1e3 ? removals + 1 : 0;
    lastRemoval = Date.now();
    hideFirstFrame(frame);
    attach(frame);
  }).observe(document, { childList: true, subtree: true, attributes: true });
  return frame;
};
