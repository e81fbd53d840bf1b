/** Dispatches an event for the page and the identification tag. It bubbles from the document to the window. */
export const emit = (name: string, detail: unknown): void => {
  document.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));
};
