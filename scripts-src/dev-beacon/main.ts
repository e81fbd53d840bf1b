import type { BaseConfig } from '../shared/config';
import { h, hideFirstFrame, mountHost } from '../shared/dom';
import { guard } from '../shared/guard';
import { ownPixel } from '../shared/own-pixel';
import { whenParsed } from '../shared/ready';
import { askService, Findings, inspect, pixelOnPage } from './findings';
import { CSS } from './style';

declare const __ASSENT_CONFIG__: BaseConfig;
const { base }: BaseConfig = __ASSENT_CONFIG__;

const own = ownPixel();

const show = async (): Promise<void> => {
  const pixel = own || pixelOnPage(base);
  const list = h('dl');
  const panel: HTMLElement = h(
    'section',
    { className: 'p', 'aria-label': 'Pixel check' },
    h(
      'div',
      { className: 'x' },
      h('b', null, 'Pixel check'),
      h('button', { onclick: () => panel.remove() }, 'Close'),
    ),
    list,
  );
  const frame = mountHost(CSS, 'en', 'ltr');
  hideFirstFrame(frame);
  frame.append(panel);

  const render = (findings: Findings): void => {
    list.replaceChildren();
    for (const label in findings) list.append(h('dt', null, label), h('dd', null, findings[label]));
    console.table(findings);
  };
  if (!pixel) return render({ Pixel: 'none: no script on this page names one (data-pixel)' });

  const service = await askService(base, pixel);
  const update = (): void => render(inspect(base, service));
  update();
  // The tag may load after this script; the page's load event waits for both.
  addEventListener('load', update);
  // Identification starts shortly after a choice.
  document.addEventListener('assent:change', () => setTimeout(update, 500));
};

whenParsed(() => guard(show));

// Makes this file a module, whatever a package.json in a parent folder declares.
export {};
