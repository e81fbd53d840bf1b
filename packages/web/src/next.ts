import { createElement, type ReactElement } from 'react';
import { tagAddress, tagAttributes, type TagOptions } from './load.js';

export { ConsentFrame, ConsentScript, Gate, useConsent } from './react.js';

/** The consent tag as a part of the server's HTML: React puts it into the head, once. */
export const ConsentTag = (options: TagOptions): ReactElement =>
  createElement('script', { async: true, src: tagAddress(options), nonce: options.nonce, ...tagAttributes(options) });
