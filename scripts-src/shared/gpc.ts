/** Whether the browser sends Global Privacy Control now. Visitors can switch it on while a page is open. */
export const gpc = (): boolean =>
  (navigator as Navigator & { globalPrivacyControl?: unknown }).globalPrivacyControl === true;
