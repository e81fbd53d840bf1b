import type { BaseConfig } from '../shared/config';
import { explain } from '../shared/explain';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

/** Section of the documentation, and the text for each cause. */
const TEXTS: Record<string, [section: string, text: (detail: string) => string]> = {
  second: ['install', () => 'this page contains two consent tags. The first one asks, this one does nothing.'],
  call: ['javascript-api', (name) => `there is no “${name}”. The call does nothing.`],
  choice: ['javascript-api', (names) => `the choice (${names}) is made without the purposes that this site does not ask for. It is not made if none is left, or under Global Privacy Control.`],
  host: ['test', () => `identification is not available on ${location.hostname}: the pixel is not installed for this host or is paused, or the service did not answer.`],
  share: ['one-choice-for-all-subdomains', () => '/share.js cannot be loaded. Nothing is permitted on this page, and nobody is asked.'],
  site: [
    'test',
    (pixel) =>
      pixel.startsWith('test_')
        ? `no choice is recorded on ${location.hostname}: the test tag works on localhost, private addresses, names that end in .test, and the test hosts of the pixel.`
        : `no choice is recorded on ${location.hostname}: the pixel is for another site. To try it here, use the test tag <script async src="${base}/px/test_${pixel}.js"></script>`,
  ],
  removed: ['install', () => 'the page has removed <assent-ui> several times within seconds. Visitors are not asked here.'],
  frame: [
    'gate-scripts-and-frames',
    (src) => `a frame with data-assent has no data-src, so it ${src ? `has loaded ${src} without waiting` : 'shows nothing'}. Write its address into data-src instead of src.`,
  ],
  kind: ['gate-scripts-and-frames', (name) => `a <${name}> with data-assent does not wait: only <script type="text/plain"> and <iframe data-src> do.`],
  purpose: ['gate-scripts-and-frames', (names) => `an element waits for “${names}”, which visitors are not asked for here. It is never loaded.`],
};

/** Explains to the page's developer why something has no effect. */
export const hint = (code: string, detail = '', ...elements: unknown[]): void => {
  const [section, text] = TEXTS[code];
  explain(base, section, text(detail), ...elements);
};
