import { Page } from '@playwright/test';

/** Words of English sentences that are no words of German or Polish. */
const ENGLISH = /\b(the|and|of|is|are|your|you|for|with|not|this|from|copy)\b/i;

/**
 * Returns visible texts and names on the page that are in English. Names and texts of others are in `bdi`; what is not
 * translated is code, or says so.
 */
export const englishTexts = (page: Page): Promise<string[]> =>
  page.evaluate((pattern) => {
    const english = new RegExp(pattern, 'i');
    const isOurs = (element: Element): boolean =>
      !element.closest('[translate=no],html [lang],bdi,code,pre,script,style,noscript') && element.checkVisibility();
    const found: string[] = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (isOurs(node.parentElement!)) found.push(node.textContent!);
    }
    for (const element of document.querySelectorAll('[aria-label],[title],[placeholder],[alt]')) {
      if (!isOurs(element)) continue;
      for (const name of ['aria-label', 'title', 'placeholder', 'alt']) found.push(element.getAttribute(name) ?? '');
    }
    return found.map((text) => text.trim()).filter((text) => english.test(text));
  }, ENGLISH.source);

/** Returns how much wider than the window the page is, in pixels. */
export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - window.innerWidth));
