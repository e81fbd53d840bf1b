/** The state of each type of Google Consent Mode: `granted` or `denied`. */
export type Types = Record<string, string>;

interface Vendor {
  /** Whether the vendor's interface exists. */
  isReady(): unknown;
  /** Sends the vendor's own denial before the first update. */
  deny?(): void;
  update(types: Types): void;
  /** Whether a denial deletes the vendor's cookies, so that a visitor who has accepted would be a new one afterwards. */
  forgets?: true;
}

const page = window as any;
const READY = (): boolean => true;
const isGranted = (types: Types, type: string): boolean => types[type] === 'granted';

/** A vendor's queue, as its own snippet defines it. The snippet keeps one that exists. */
const uetQueue = (): { push(...command: unknown[]): unknown } => (page.uetq = page.uetq || []);

const clarity = (...command: unknown[]): void => {
  page.clarity =
    page.clarity ||
    function () {
      (page.clarity.q = page.clarity.q || []).push(arguments);
    };
  page.clarity(...command);
};

/** `statistics-anonymous` is not exempt here: statistics need a permission of their own. `functional` stays as it is. */
const WORDPRESS: Record<string, string> = {
  preferences: 'functionality_storage',
  'statistics-anonymous': 'analytics_storage',
  statistics: 'analytics_storage',
  marketing: 'ad_storage',
};

/** Whether Shopify has been asked to load its consent feature. */
let loadingShopify: boolean | undefined;

export const VENDORS: Record<string, Vendor> = {
  /** Microsoft Advertising, Universal Event Tracking. */
  uet: {
    isReady: READY,
    deny: () => uetQueue().push('consent', 'default', { ad_storage: 'denied' }),
    update: ({ ad_storage }) => uetQueue().push('consent', 'update', { ad_storage }),
  },

  /**
   * Microsoft Clarity, Consent API v2. There is no denial first: Clarity deletes its cookies after one, and a visitor who has
   * accepted would be a new one on every page.
   */
  clarity: {
    isReady: READY,
    forgets: true,
    update: ({ ad_storage, analytics_storage }) => clarity('consentv2', { ad_Storage: ad_storage, analytics_Storage: analytics_storage }),
  },

  /** Meta Pixel. Its snippet does nothing where `fbq` exists, so no queue is defined for it. */
  meta: {
    isReady: () => page.fbq,
    deny() {
      // A denial counts for events that were queued before it only if it is processed first.
      if (page.fbq.queue && !page.fbq.callMethod) page.fbq.queue.unshift(['consent', 'revoke']);
      else page.fbq('consent', 'revoke');
    },
    update: (types) => page.fbq('consent', isGranted(types, 'ad_storage') ? 'grant' : 'revoke'),
  },

  /** Shopify Customer Privacy. */
  shopify: {
    isReady() {
      const { Shopify } = page;
      if (Shopify?.customerPrivacy?.setTrackingConsent) return true;
      if (Shopify?.loadFeatures && !loadingShopify) {
        loadingShopify = true;
        Shopify.loadFeatures([{ name: 'consent-tracking-api', version: '0.1' }], () => {});
      }
      return false;
    },
    update: (types) =>
      page.Shopify.customerPrivacy.setTrackingConsent(
        {
          analytics: isGranted(types, 'analytics_storage'),
          marketing: isGranted(types, 'ad_storage'),
          preferences: isGranted(types, 'functionality_storage'),
          sale_of_data: isGranted(types, 'ad_user_data'),
        },
        () => {},
      ),
  },

  /** WP Consent API. */
  wordpress: {
    isReady: () => page.wp_set_consent,
    deny() {
      page.wp_consent_type = 'optin';
      document.dispatchEvent(new CustomEvent('wp_consent_type_defined'));
    },
    update(types) {
      for (const category in WORDPRESS) page.wp_set_consent(category, isGranted(types, WORDPRESS[category]) ? 'allow' : 'deny');
    },
  },
};
