/** Runs now, or once the document has been parsed: before that there may be no body, and half an inline script. */
export const whenParsed = (run: () => void): void => {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', run, { once: true });
  else run();
};

/** Runs now, or once a page that was only prepared in advance is really shown: before that it has no visitor. */
export const whenActivated = (run: () => void): void => {
  if ((document as Document & { prerendering?: boolean }).prerendering) {
    document.addEventListener('prerenderingchange', run, { once: true });
  } else run();
};
