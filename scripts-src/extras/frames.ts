import { guard } from '../shared/guard';
import { load } from './load';
import type { Session } from './session';

/** The attributes that determine the content of a frame. */
type Content = Record<'src' | 'srcdoc', string | null>;
/** The content that frames showed before consent, and the address that has replaced it. */
const replaced = new WeakMap<HTMLIFrameElement, Content & { by: string }>();

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
    frame.removeAttribute(name);
    // Markup that the page's Trusted Types forbid is left out. The frame, and those after it, must be blocked all the same.
    if (value !== null) guard(() => frame.setAttribute(name, name === 'srcdoc' ? trusted(value, 'createHTML') : value));
  }
  position.replaceWith(frame);
};

/** Frames whose visitor wants to see them once, with the address that was named, and when that was decided. */
const wantedOnce = new WeakMap<HTMLIFrameElement, { src: string; time: number }>();

/** Whether the visitor has decided to see this frame once, and has not refused since. */
const isWanted = (frame: HTMLIFrameElement, { choice }: Session): boolean => {
  const wanted = wantedOnce.get(frame);
  return !!wanted && wanted.src === frame.dataset.src && (!choice || choice.state === 'accepted' || choice.time < wanted.time);
};

/** Shows the gated content of a frame if it is permitted, or else its placeholder. */
export const switchFrame = (frame: HTMLIFrameElement, isPermitted: boolean, session: Session): void => {
  const content = contentOf(frame);
  const { src, assentPlaceholder } = frame.dataset;
  const before = replaced.get(frame);
  const shows = (address?: string): boolean => content.src === address && content.srcdoc === null;
  // The page may have changed `data-src` since: the earlier content must not stay, nor return as a placeholder.
  const isShown = shows(src) || shows(before?.by);
  const mayShow = isPermitted || isWanted(frame, session);
  if (mayShow ? !shows(src) : isShown) {
    if (mayShow) replaced.set(frame, { ...((isShown && before) || content), by: src! });
    show(frame, mayShow ? { src: src!, srcdoc: null } : before || { src: null, srcdoc: null }, session.trusted);
  }
  if (mayShow || assentPlaceholder === 'none' || ATTRIBUTES.some((name) => frame.hasAttribute(name))) return;
  const showOnce = (): void => {
    wantedOnce.set(frame, { src: src!, time: Date.now() });
    switchFrame(frame, isPermitted, session);
  };
  guard(async () => (await load('placeholders')).placehold(frame, session, showOnce));
};
