/** Tells the page and the identification tag; bubbles from the document to the window. */
export const emit = (name: string, detail: unknown): void => {
  document.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
};
