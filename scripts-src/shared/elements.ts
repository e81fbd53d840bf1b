import { h } from './dom';

/** The properties of a click that show how a button was pressed. `key` is set only in place of a cancelled key. */
export type Press = Pick<UIEvent, 'isTrusted' | 'detail'> & { key?: string };

export const button = (label: string, onclick: (event: Press) => void): HTMLElement => h('button', { onclick }, label);

export const link = (href: string, label: string): HTMLElement => h('a', { href, target: '_blank' }, label);

/** The title, and an element beside it. */
export const heading = (title: string, aside: Node): HTMLElement =>
  h('div', { className: 'h' }, h('h2', null, title), aside);

/** The buttons, which stay visible, and an element above them for error messages, which screen readers announce. */
export const actions = (className: string, ...buttons: (Node | false)[]): HTMLElement =>
  h('div', { className }, h('p', { className: 'm', role: 'alert' }), ...buttons);
