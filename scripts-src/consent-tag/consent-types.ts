/**
 * The seven types of Google Consent Mode v2, and the purposes that grant them:
 *
 * | type                    | granted by                                                             |
 * | ----------------------- | ---------------------------------------------------------------------- |
 * | ad_storage              | resolution (an identifier that advertising may use)                    |
 * | ad_user_data            | email_sharing, phone_sharing (personal data leaves the site)           |
 * | ad_personalization      | partner_email, partner_calls, partner_sms (partners address a person)  |
 * | analytics_storage       | analytics                                                              |
 * | personalization_storage | resolution (the visitor is recognised)                                 |
 * | functionality_storage   | any acceptance: no purpose covers what a page needs to work            |
 * | security_storage        | any acceptance, for the same reason                                    |
 *
 * `newsletter` grants no type: a newsletter is sent, not stored in the browser.
 */
const GRANTED_BY: { [type: string]: string } = {
  ad_storage: 'resolution',
  ad_user_data: '_sharing',
  ad_personalization: 'partner',
  analytics_storage: 'analytics',
  personalization_storage: 'resolution',
  functionality_storage: '',
  security_storage: '',
};

/** The state of each type after `purposes` have been accepted. */
export const consentTypes = (purposes: string[]): { [type: string]: string } => {
  const types: { [type: string]: string } = {};
  for (const type in GRANTED_BY) {
    types[type] = purposes.some((purpose) => purpose.includes(GRANTED_BY[type])) ? 'granted' : 'denied';
  }
  return types;
};
