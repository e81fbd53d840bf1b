/**
 * The pixel of the running script's snippet. Call it while the script runs: later there is no current script. Tag managers
 * and bundlers also hide the current script; then the first pixel that is named on the page is returned.
 */
export const ownPixel = (): string | undefined => {
  const current = document.currentScript?.dataset.pixel;
  const pixel = current || document.querySelector<HTMLElement>('script[data-pixel]')?.dataset.pixel;
  return pixel && /^[\w-]{1,80}$/.test(pixel) ? pixel : undefined;
};
