import { FILLED_FRAMES } from '../shared/gated';
import { gpc } from '../shared/gpc';
import { guard } from '../shared/guard';
import { load } from './load';
import type { Session } from './session';

/** The attributes that determine the content of a frame, and when it loads. */
const ATTRIBUTES = ['src', 'srcdoc', 'loading'] as const;
type Content = Record<(typeof ATTRIBUTES)[number], string | null>;
/** The frames that show gated content: what they showed before consent, and the address that has replaced it. */
const replaced = new WeakMap<HTMLIFrameElement, { content: Content; by: string }>();

const contentOf = (frame: HTMLIFrameElement): Content => ({
  src: frame.getAttribute('src'),
  srcdoc: frame.getAttribute('srcdoc'),
  loading: frame.getAttribute('loading'),
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

/**
 * Frames that the visitor wants to see once, with their address and the time of that decision, and whether Global
 * Privacy Control was on then.
 */
const wantedOnce = new WeakMap<HTMLIFrameElement, { src: string; time: number; gpc: boolean }>();

/** Whether the visitor has decided to see this frame once, and has not refused since. */
const isWanted = (frame: HTMLIFrameElement, { choice }: Session): boolean => {
  const wanted = wantedOnce.get(frame);
  if (!wanted || (gpc() && !wanted.gpc)) return false;
  return wanted.src === frame.dataset.src && (!choice || choice.state === 'accepted' || choice.time < wanted.time);
};

/** Shows the gated content of a frame if it is permitted, or else its placeholder. */
export const switchFrame = (frame: HTMLIFrameElement, isPermitted: boolean, session: Session): void => {
  const content = contentOf(frame);
  const { src, assentPlaceholder } = frame.dataset;
  const before = replaced.get(frame);
  const isShown = content.src === src && content.srcdoc === null;
  const mayShow = isPermitted || isWanted(frame, session);
  // A page may change the address of a permitted frame. A refusal removes the content, whatever the frame shows then.
  if (mayShow ? before?.by !== src : before || isShown) {
    // A copy of a frame that was shown has the gated content from the beginning.
    const first = before ? before.content : isShown ? { ...content, src: null } : content;
    if (mayShow) replaced.set(frame, { content: first, by: src! });
    else replaced.delete(frame);
    if (!mayShow || !isShown) show(frame, mayShow ? { ...first, src: src!, srcdoc: null } : first, session.trusted);
    // With `lazy`, a copy of the frame, such as in a framework's page cache, does not load before the gate has seen it.
    // It has no effect on a frame that has begun to load, except in Firefox, which would load it again.
    if (mayShow && !CSS.supports('-moz-appearance:none')) frame.loading = 'lazy';
  }
  if (mayShow || assentPlaceholder === 'none' || frame.matches(FILLED_FRAMES)) return;
  const showOnce = (): void => {
    wantedOnce.set(frame, { src: src!, time: Date.now(), gpc: gpc() });
    switchFrame(frame, isPermitted, session);
  };
  guard(async () => (await load('placeholders')).placehold(frame, session, showOnce));
};
