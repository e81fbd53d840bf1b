import { readFileSync } from 'node:fs';

/** Other consent tools: their own scripts where they are packages, and the cookies that the others document. */

const MODULES = `${__dirname}/../node_modules`;

export const VANILLA = readFileSync(`${MODULES}/vanilla-cookieconsent/dist/cookieconsent.umd.js`, 'utf8');
export const KLARO = readFileSync(`${MODULES}/klaro/dist/klaro.js`, 'utf8');

/** The cookie of vanilla-cookieconsent 3: `cc_cookie`. */
export const vanilla = (...accepted: string[]): string =>
  encodeURIComponent(
    JSON.stringify({
      categories: accepted,
      revision: 0,
      data: null,
      consentTimestamp: '2025-11-27T09:00:00.000Z',
      consentId: '9e4c1a54-7f0f-4d3f-9a55-3f8d4e4cf2f1',
      services: { necessary: [], analytics: [], marketing: [] },
      languageCode: 'en',
      lastConsentTimestamp: '2025-11-27T09:00:00.000Z',
      expirationTime: 4_000_000_000_000,
    }),
  );

/** The same of its version 2, which does not encode it. */
export const vanilla2 = (...accepted: string[]): string =>
  JSON.stringify({ categories: accepted, revision: 0, data: null, rfc_cookie: false });

/** The cookie of Klaro: `klaro`. */
export const klaro = (services: Record<string, boolean>): string => encodeURIComponent(JSON.stringify(services));

/** The cookie of Cookiebot: `CookieConsent`. Only quotes and commas are encoded, as Cookiebot does. */
export const cookiebot = (preferences: boolean, statistics: boolean, marketing: boolean, method = 'explicit'): string =>
  `{stamp:'zy8fXa0n3mGvJYk+X9KcW1uUuGrRrZ2f2Vw0dQFcEwYJ0yC9mQm5sA==',necessary:true,preferences:${preferences},statistics:${statistics},marketing:${marketing},method:'${method}',ver:1,utc:1764200000000,region:'de'}`
    .replaceAll("'", '%27')
    .replaceAll(',', '%2C');

/** The cookie of OneTrust: `OptanonConsent`. `OptanonAlertBoxClosed` holds the time of an answer. */
export const oneTrust = (groups: Record<string, 0 | 1>): string =>
  'isGpcEnabled=0&datestamp=Thu+Nov+27+2025+10%3A00%3A00+GMT%2B0100&version=202510.1.0&browserGpcFlag=0&isIABGlobal=false&hosts=&consentId=9e4c1a54-7f0f-4d3f-9a55-3f8d4e4cf2f1&interactionCount=1&isAnonUser=1&landingPath=NotLandingPage&groups=' +
  encodeURIComponent(
    Object.entries(groups)
      .map(([group, value]) => `${group}:${value}`)
      .join(),
  ) +
  '&AwaitingReconsent=false';
