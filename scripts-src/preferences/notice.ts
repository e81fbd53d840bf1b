import type { TagConfig } from '../shared/config';
import { link } from '../shared/elements';
import { texts } from './texts';

/** A link to the notice that the receipt refers to. */
export const noticeLink = ({ base, pixel, lang }: TagConfig): HTMLElement =>
  link(`${base}/v1/policy/${pixel}?lang=${lang}`, texts.notice);
