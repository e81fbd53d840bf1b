import { h } from '../shared/dom';
import { config } from './config';

const { texts } = config;

export const button = (label: string, onclick: () => void): HTMLElement => h('button', { onclick }, label);

const link = (href: string, label: string): HTMLElement =>
  h('a', { href, target: '_blank', rel: 'noopener' }, label);

/** With whom data is shared, if it is. */
export const sharing = (): HTMLElement | false =>
  config.sharing &&
  h(
    'p',
    null,
    config.parties.length ? texts.sharedWith!.replace('{parties}', () => config.parties.join(', ')) : texts.shared!,
  );

/** The notice that the receipt refers to, and the site's own policy. */
export const links = (): HTMLElement =>
  h(
    'p',
    { className: 'n' },
    link(`${config.base}/v1/policy/${config.pixel}?lang=${config.lang}`, texts.notice),
    config.site && link(config.site, texts.sitePolicy!),
  );

/** Where a failure is said, in words and to screen readers. */
export const message = (): HTMLElement => h('p', { className: 'm', role: 'alert' });
