import { send } from './http';

/**
 * The canonical id of the pixel if it is installed for this page's host and may resolve now.
 * Null after any failure: identification needs a definite permission.
 */
export const installedPixel = (base: string, pixel: string): Promise<string | null> =>
  send(`${base}/external_api/install-pixel/tag-pixel?pid=${pixel}&host=${location.hostname}`)
    .then(({ status, json }) => status === 200 && json.pixel_id)
    .catch(() => null);
