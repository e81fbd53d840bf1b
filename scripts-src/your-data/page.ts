/** The language and the texts of the page, from its `data-page` attribute. */
export interface Page {
  lang: string;
  /** As in `yourData` of the locales. */
  texts: Record<string, string>;
  /** Name and title of every purpose, the gravest first. */
  purposes: [string, string][];
}

const byId = (id: string): HTMLElement => document.getElementById(id)!;

/** The attribute of a control while its action runs. */
export const BUSY = 'aria-disabled';

/** The elements of the page, by the ids in its template. */
export const elements = {
  main: byId('main'),
  heading: byId('heading'),
  state: byId('state'),
  status: byId('said'),
  problem: byId('problem'),
  withdraw: byId('withdraw'),
  download: byId('download'),
  erase: byId('erase'),
  eraseConfirmation: byId('erase-confirmation'),
  eraseSend: byId('erase-send'),
  eraseCancel: byId('erase-cancel'),
  retry: byId('again'),
  requests: byId('requests'),
  requestList: byId('request-list'),
  choices: byId('answers'),
  list: byId('list'),
  more: byId('more'),
};

export const page: Page = JSON.parse(elements.main.querySelector<HTMLElement>('[data-page]')!.dataset.page!);

/** A text of the page. Inserted values are isolated, so that their direction does not depend on the text around them. */
export const text = (name: string, values: Record<string, string> = {}): string =>
  page.texts[name].replace(/\{(\w+)\}/g, (_all, key: string) => `\u2068${values[key]}\u2069`);

/** The page's language, in the regional variant that the reader prefers. */
const locale = navigator.languages.find((tag) => tag.split('-')[0] === page.lang.split('-')[0]) || page.lang;

const format = (iso: string, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat(locale, options).format(new Date(iso));

/** The date in words. */
export const longDate = (iso: string): string => format(iso, { dateStyle: 'long' });

/** The date and the time, in the reader's time zone. */
export const dateAndTime = (iso: string): string => format(iso, { dateStyle: 'long', timeStyle: 'short' });
