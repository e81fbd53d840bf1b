/** Writes one line for the page's developer to the browser console, with the section of the documentation about it. */
export const explain = (base: string, section: string, text: string, ...details: unknown[]): void =>
  console.info(`Assent: ${text} ${base}/guide/tag#${section}`, ...details);
