import { readFileSync } from 'node:fs';

/** Other consent tools: their own scripts where they are packages, and the cookies that the others document. */

const MODULES = `${__dirname}/../node_modules`;

export const VANILLA = readFileSync(`${MODULES}/vanilla-cookieconsent/dist/cookieconsent.umd.js`, 'utf8');
export const KLARO = readFileSync(`${MODULES}/klaro/dist/klaro.js`, 'utf8');

/** The cookie of Cookiebot: `CookieConsent`. */
export const cookiebot = (preferences: boolean, statistics: boolean, marketing: boolean, method = 'explicit'): string =>
  encodeURIComponent(
    `{stamp:'zy8fXa0n3mGvJYk+X9KcW1uUuGrRrZ2f2Vw0dQFcEwYJ0yC9mQm5sA==',necessary:true,preferences:${preferences},statistics:${statistics},marketing:${marketing},method:'${method}',ver:1,utc:1764200000000,region:'de'}`,
  );

/** The cookie of OneTrust: `OptanonConsent`. `OptanonAlertBoxClosed` holds the time of an answer. */
export const oneTrust = (groups: Record<string, 0 | 1>): string =>
  'isGpcEnabled=0&datestamp=Thu+Nov+27+2025+10%3A00%3A00+GMT%2B0100&version=202510.1.0&browserGpcFlag=0&isIABGlobal=false&hosts=&consentId=9e4c1a54-7f0f-4d3f-9a55-3f8d4e4cf2f1&interactionCount=1&isAnonUser=1&landingPath=NotLandingPage&groups=' +
  encodeURIComponent(
    Object.entries(groups)
      .map(([group, value]) => `${group}:${value}`)
      .join(),
  ) +
  '&AwaitingReconsent=false';
