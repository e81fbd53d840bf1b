/** Runs a function immediately and ignores its errors, also asynchronous ones: pages may have replaced browser functions. */
export const guard = async (run: () => unknown): Promise<void> => {
  try {
    await run();
  } catch {}
};
