/** Whether the browser sends Global Privacy Control. Asked anew each time: it can be switched on while a page is open. */
export const gpc = (): boolean =>
  (navigator as Navigator & { globalPrivacyControl?: unknown }).globalPrivacyControl === true;
