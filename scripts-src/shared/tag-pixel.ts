import { ask } from './http';

/**
 * The canonical id of the pixel if it is installed for this page's host and may resolve now, else null.
 * Any failure is a null: identification needs a clear yes.
 */
export const installedPixel = async (base: string, pixel: string): Promise<string | null> => {
  try {
    const { status, json } = await ask(
      `${base}/external_api/install-pixel/tag-pixel?pid=${encodeURIComponent(pixel)}&host=${encodeURIComponent(location.hostname)}`,
    );
    return status === 200 && typeof json.pixel_id === 'string' ? json.pixel_id : null;
  } catch {
    return null;
  }
};
