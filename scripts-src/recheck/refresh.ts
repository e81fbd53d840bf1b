import type { RecheckConfig, TagConfig } from '../shared/config';
import { explain } from '../shared/explain';
import type { Send } from '../shared/http';

declare const __ASSENT_CONFIG__: RecheckConfig;
const { reload }: RecheckConfig = __ASSENT_CONFIG__;

/**
 * Replaces an outdated configuration of the consent tag by the current one: the page may have been open for a long time, or
 * a service worker may have cached the tag. If the current configuration does not fit this build, the visitor is asked to
 * reload the page.
 */
export const refresh = async (config: TagConfig, send: Send): Promise<void> => {
  try {
    // The time prevents a response from a cache.
    const { text } = await send(`${config.base}/px/${config.pixel}.js?lang=${config.lang}&now=${Date.now()}`);
    const current = JSON.parse(text.slice(text.lastIndexOf('({"') + 1, text.lastIndexOf(')}catch'))) as TagConfig;
    if (current.build !== config.build || current.hash === config.hash) throw current;
    delete config.site;
    Object.assign(config, current);
  } catch {
    const FAILED = config.texts.length - 1;
    config.texts[FAILED] = reload;
    explain(config.base, 'popup', 'the acceptance is not recorded: the popup is off, or this page has an outdated tag.');
  }
};
