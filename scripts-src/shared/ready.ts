/** Runs now, or once the document has been parsed. Before that, the body and inline scripts may be incomplete. */
export const whenParsed = (run: () => void): void => {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', run);
  else run();
};

/** Runs now, or once a prerendered page is shown. Before that it has no visitor. */
export const whenActivated = (run: () => void): void => {
  if ((document as Document & { prerendering?: boolean }).prerendering) {
    document.addEventListener('prerenderingchange', run);
  } else run();
};
