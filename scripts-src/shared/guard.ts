/** Runs, at once, what must not harm the page when it fails, now or later: some pages have bent the browser's functions. */
export const guard = async (run: () => unknown): Promise<void> => {
  try {
    await run();
  } catch {}
};
