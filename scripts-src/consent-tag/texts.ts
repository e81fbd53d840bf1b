import { config } from './config';

/** All that the tag says, apart from the purposes. They come without names, which would be a twentieth of the script. */
export const [
  TITLE,
  ASK,
  PROMISE,
  ACCEPT,
  DECLINE,
  CHOOSE,
  NOTICE,
  SITE_POLICY,
  WITHDRAW,
  SHARED,
  SAVED,
  FAILED,
] = config.texts;
