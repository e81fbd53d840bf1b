/**
 * The pixel that the running script was pasted for. To be asked while the script runs: later there is no current script.
 * Tag managers and bundlers hide it too; then the first pixel named on the page is meant.
 */
export const ownPixel = (): string | undefined => {
  const current = document.currentScript?.dataset.pixel;
  const pixel = current || document.querySelector<HTMLElement>('script[data-pixel]')?.dataset.pixel;
  return pixel && /^[\w-]{1,80}$/.test(pixel) ? pixel : undefined;
};
