import { readFileSync } from 'node:fs';
import { Page } from '@playwright/test';

/** The snippets that vendors document, without their libraries, and the signals that they received. */

const MODULES = `${__dirname}/../node_modules`;

/** The loader of `@microsoft/clarity` as a script. The library that it loads is not reachable in tests. */
const clarityLoader = (): string => {
  const utils = readFileSync(`${MODULES}/@microsoft/clarity/src/utils.js`, 'utf8').replace(/export /g, '');
  const index = readFileSync(`${MODULES}/@microsoft/clarity/index.js`, 'utf8').replace(/^import .*$/m, '').replace('export default Clarity;', 'window.Clarity = Clarity;');
  return utils + index;
};

/** Microsoft's own library of Clarity. */
export const clarityLibrary = (): string => readFileSync(`${MODULES}/clarity-js/build/clarity.min.js`, 'utf8');

export const SNIPPETS: Record<string, string> = {
  google: `window.dataLayer = window.dataLayer || []; function gtag(){dataLayer.push(arguments);} gtag('js', new Date()); gtag('config', 'G-1');`,
  uet: `(function(w,d,t,r,u){var f,n,i;w[u]=w[u]||[],n=d.createElement(t),n.src=r,n.async=1,i=d.getElementsByTagName(t)[0],i.parentNode.insertBefore(n,i)})(window,document,"script","/bat.js","uetq");`,
  clarity: `${clarityLoader()} Clarity.init('project');`,
  meta: `!function(f,b,e,v,n,t,s){if(f.fbq)return;n=f.fbq=function(){n.callMethod?
    n.callMethod.apply(n,arguments):n.queue.push(arguments)};if(!f._fbq)f._fbq=n;
    n.push=n;n.loaded=!0;n.version='2.0';n.queue=[];t=b.createElement(e);t.async=!0;
    t.src=v;s=b.getElementsByTagName(e)[0];s.parentNode.insertBefore(t,s)}(window,document,'script','/fbevents.js');
    fbq('init', '1'); fbq('track', 'PageView');`,
  shopify: `window.shopifyCalls = [];
    window.Shopify = { loadFeatures: function (features, done) {
      setTimeout(function () {
        if (features[0].name === 'consent-tracking-api') Shopify.customerPrivacy = {
          setTrackingConsent: function (consent, done) { shopifyCalls.push(consent); done(); },
        };
        done();
      }, 100);
    } };`,
  wordpress: `function wp_set_consent(category, value) {
      document.cookie = 'wp_consent_' + category + '=' + value + ';path=/';
      document.dispatchEvent(new CustomEvent('wp_listen_for_consent_change', { detail: { [category]: value } }));
    }
    function wp_has_consent(category) {
      var pair = document.cookie.split('; ').find(function (pair) { return pair.indexOf('wp_consent_' + category + '=') === 0 });
      return pair ? pair.endsWith('=allow') : window.wp_consent_type !== 'optin';
    }`,
};

/** Whether a vendor may use data for advertising and for statistics; undefined for what it does not distinguish. */
export interface Signal {
  ads?: boolean;
  statistics?: boolean;
}

/** The commands that a vendor has received, as plain arrays. */
export const commands = (page: Page, vendor: string): Promise<any[]> =>
  page.evaluate((name) => {
    const { dataLayer, uetq = [], clarity, fbq, shopifyCalls } = window as any;
    const plain = (all: any): any[] => Array.from(all || [], (one: any) => Array.from(one));
    // The queue of UET is flat: the arguments of every push follow each other.
    if (name === 'uet') return Array.from({ length: uetq.length / 3 }, (_, index) => uetq.slice(index * 3, index * 3 + 3));
    if (name === 'google') return plain(dataLayer);
    if (name === 'clarity') return plain(clarity?.q);
    return name === 'meta' ? plain(fbq?.queue) : shopifyCalls || [];
  }, vendor);

/** The last signal to a vendor; undefined if it received none. */
export const lastSignal = async (page: Page, vendor: string): Promise<Signal | undefined> => {
  if (vendor === 'wordpress') {
    return page.evaluate(() => {
      const { wp_has_consent: has, wp_consent_type: type } = window as any;
      return type === 'optin' ? { ads: has('marketing'), statistics: has('statistics') } : undefined;
    });
  }
  const all = await commands(page, vendor);
  const last = (vendor === 'shopify' ? all : all.filter(([name]) => /^consent/.test(name))).at(-1);
  if (!last) return undefined;
  if (vendor === 'google') return { ads: last[2].ad_storage === 'granted', statistics: last[2].analytics_storage === 'granted' };
  if (vendor === 'uet') return { ads: last[2].ad_storage === 'granted' };
  if (vendor === 'clarity') return { ads: last[1].ad_Storage === 'granted', statistics: last[1].analytics_Storage === 'granted' };
  if (vendor === 'meta') return { ads: last[1] === 'grant' };
  return { ads: last.marketing, statistics: last.analytics };
};
