import type { ExtrasConfig, TagConfig } from '../shared/config';
import type { ask } from '../shared/http';

declare const __ASSENT_CONFIG__: ExtrasConfig;
const { reload }: ExtrasConfig = __ASSENT_CONFIG__;

/**
 * Replaces the configuration of a consent tag that has grown old, in a page that has been open for long or out of the store
 * of a service worker, by the current one. Where there is none that this tag can show, the tag asks the visitor to load the
 * page anew.
 */
export const refresh = async (config: TagConfig, read: typeof ask): Promise<void> => {
  try {
    // The time keeps stores from answering.
    const { text } = await read(`${config.base}/px/${config.pixel}.js?lang=${config.lang}&now=${Date.now()}`);
    const current = JSON.parse(text.slice(text.lastIndexOf('({"') + 1, text.lastIndexOf(')}catch'))) as TagConfig;
    if (current.build !== config.build || current.hash === config.hash) throw current;
    delete config.site;
    Object.assign(config, current);
  } catch {
    const FAILED = config.texts.length - 1;
    config.texts[FAILED] = reload;
  }
};
