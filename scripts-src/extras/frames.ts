/** The attributes that determine the content of a frame. */
type Content = Record<'src' | 'srcdoc', string | null>;
/** The content that frames showed before consent. */
const placeholders = new WeakMap<HTMLIFrameElement, Content>();

const ATTRIBUTES = ['src', 'srcdoc'] as const;

const contentOf = (frame: HTMLIFrameElement): Content => ({
  src: frame.getAttribute('src'),
  srcdoc: frame.getAttribute('srcdoc'),
});

/**
 * Shows content in a frame. The frame is removed and inserted again, because changing a connected frame would add a
 * history entry.
 */
const show = (frame: HTMLIFrameElement, content: Content, trusted: (text: string, create?: string) => string): void => {
  const position = document.createComment('');
  frame.replaceWith(position);
  for (const name of ATTRIBUTES) {
    const value = content[name];
    if (value === null) frame.removeAttribute(name);
    else frame.setAttribute(name, name === 'srcdoc' ? trusted(value, 'createHTML') : value);
  }
  position.replaceWith(frame);
};

/** Shows the gated content of a frame if it is permitted, or else its placeholder. */
export const switchFrame = (
  frame: HTMLIFrameElement,
  isPermitted: boolean,
  { trusted }: { trusted(text: string, create?: string): string },
): void => {
  const content = contentOf(frame);
  const { src } = frame.dataset;
  const isShown = content.src === src && content.srcdoc === null;
  if (isPermitted === isShown) return;
  if (isPermitted) placeholders.set(frame, content);
  show(frame, isPermitted ? { src: src!, srcdoc: null } : placeholders.get(frame) || { src: null, srcdoc: null }, trusted);
};
