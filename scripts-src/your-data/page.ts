/** What the page says of itself: its language and its texts. */
export interface Page {
  lang: string;
  /** As in `yourData` of the locales. */
  texts: Record<string, string>;
  /** Name and title of every purpose, the gravest first. */
  purposes: [string, string][];
}

const found = (id: string): HTMLElement => document.getElementById(id)!;

/** Set on what is pressed while it works. */
export const BUSY = 'aria-disabled';

/** The places of the page, as its template names them. */
export const places = {
  main: found('main'),
  heading: found('heading'),
  state: found('state'),
  said: found('said'),
  problem: found('problem'),
  withdraw: found('withdraw'),
  download: found('download'),
  erase: found('erase'),
  again: found('again'),
  answers: found('answers'),
  list: found('list'),
  more: found('more'),
};

export const page: Page = JSON.parse(places.main.querySelector<HTMLElement>('[data-page]')!.dataset.page!);

/** A text of the page. What is put into it stands apart: in its own direction, whatever is around it. */
export const text = (name: string, values: Record<string, string> = {}): string =>
  page.texts[name].replace(/\{(\w+)\}/g, (_all, key: string) => `\u2068${values[key]}\u2069`);

/** The page's language as the reader's region writes it. */
const locale = navigator.languages.find((tag) => tag.split('-')[0] === page.lang.split('-')[0]) || page.lang;

const written = (iso: string, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale, options).format(new Date(iso));

/** A day in words. */
export const day = (iso: string): string => written(iso, { dateStyle: 'long' });

/** A day and the time, where the reader is. */
export const moment = (iso: string): string => written(iso, { dateStyle: 'long', timeStyle: 'short' });
