import { Page } from '@playwright/test';

/** Why a test with an authenticator runs only in Chromium. */
export const NO_AUTHENTICATOR = 'only Chromium has virtual authenticators';

/** Gives the browser an authenticator that stores passkeys and verifies its user. Returns what decides whether it does. */
export const addAuthenticator = async (page: Page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return (isUserVerified: boolean) => session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified });
};
