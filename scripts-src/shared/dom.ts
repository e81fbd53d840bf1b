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
    else element.setAttribute(name, String(props[name]));
  }
  element.append(...(children.filter(Boolean) as (Node | string)[]));
  return element;
};

/**
 * A host with a shadow root between head and body: outside the body no `:first-child` rule of the page and no
 * framework that owns the body is disturbed, a swapped body does not take it away, and it comes first in the tab order.
 */
export const mountHost = (css: string, lang: string, dir: string): HTMLElement => {
  const host = document.createElement('assent-ui');
  const root = host.attachShadow({ mode: 'open' });
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
  const frame = h('div', { className: 'a', lang, dir });
  root.append(frame);
  document.documentElement.insertBefore(host, document.body);
  return frame;
};

/**
 * Shows a panel, transparent in its first frame: browsers do not count what appears so as the page's largest paint,
 * which is the page's own affair. For that the panel is a layer of its own (`will-change`), else it would be painted
 * anew. Done by hand, because a browser needs a frame more to get an animation going. What cannot be seen yet cannot
 * be pressed.
 */
export const appear = (frame: HTMLElement, panel: HTMLElement): void => {
  panel.style.cssText = 'opacity:0;pointer-events:none';
  frame.append(panel);
  requestAnimationFrame(() => setTimeout(() => (panel.style.cssText = '')));
};
