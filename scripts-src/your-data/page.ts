/** What the page says of itself: its language and its texts. */
export interface Page {
  lang: string;
  /** As in `yourData` of the locales. */
  texts: Record<string, string>;
  /** Name and title of every purpose, the gravest first. */
  purposes: [string, string][];
}

const byId = (id: string): HTMLElement => document.getElementById(id)!;

/** Set on what is pressed while it works. */
export const BUSY = 'aria-disabled';

/** The places of the page, as its template names them. */
export const elements = {
  main: byId('main'),
  heading: byId('heading'),
  state: byId('state'),
  status: byId('said'),
  problem: byId('problem'),
  withdraw: byId('withdraw'),
  download: byId('download'),
  erase: byId('erase'),
  retry: byId('again'),
  answers: byId('answers'),
  list: byId('list'),
  more: byId('more'),
};

export const page: Page = JSON.parse(elements.main.querySelector<HTMLElement>('[data-page]')!.dataset.page!);

/** A text of the page. What is put into it stands apart: in its own direction, whatever is around it. */
export const text = (name: string, values: Record<string, string> = {}): string =>
  page.texts[name].replace(/\{(\w+)\}/g, (_all, key: string) => `\u2068${values[key]}\u2069`);

/** The page's language as the reader's region writes it. */
const locale = navigator.languages.find((tag) => tag.split('-')[0] === page.lang.split('-')[0]) || page.lang;

const format = (iso: string, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale, options).format(new Date(iso));

/** A day in words. */
export const longDate = (iso: string): string => format(iso, { dateStyle: 'long' });

/** A day and the time, where the reader is. */
export const dateAndTime = (iso: string): string => format(iso, { dateStyle: 'long', timeStyle: 'short' });
