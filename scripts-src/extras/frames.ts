import { guard } from '../shared/guard';
import { load } from './load';
import type { Session } from './session';

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

/** Frames whose visitor wants to see them once, and when that was decided. */
const wantedOnce = new WeakMap<HTMLIFrameElement, number>();

/** Whether the visitor has decided to see this frame once, and has not refused since. */
const isWanted = (frame: HTMLIFrameElement, { choice }: Session): boolean => {
  const time = wantedOnce.get(frame);
  return !!time && (!choice || choice.state === 'accepted' || choice.time < time);
};

/** Shows the gated content of a frame if it is permitted, or else its placeholder. */
export const switchFrame = (frame: HTMLIFrameElement, isPermitted: boolean, session: Session): void => {
  const content = contentOf(frame);
  const { src, assentPlaceholder } = frame.dataset;
  const isShown = content.src === src && content.srcdoc === null;
  const mayShow = isPermitted || isWanted(frame, session);
  if (mayShow !== isShown) {
    if (mayShow) placeholders.set(frame, content);
    const next = mayShow ? { src: src!, srcdoc: null } : placeholders.get(frame) || { src: null, srcdoc: null };
    show(frame, next, session.trusted);
  }
  if (mayShow || assentPlaceholder === 'none' || ATTRIBUTES.some((name) => frame.hasAttribute(name))) return;
  const showOnce = (): void => {
    wantedOnce.set(frame, Date.now());
    switchFrame(frame, isPermitted, session);
  };
  guard(async () => (await load('placeholders')).placehold(frame, session, showOnce));
};
