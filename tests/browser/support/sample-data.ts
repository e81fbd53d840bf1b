import { Page } from '@playwright/test';
import { Client } from 'pg';
import { expect } from './fixtures';
import { ENVIRONMENT } from './global-setup';
import { Pixel, Policy } from './integrator';

/** A site with a published policy. */
interface Site {
  base: string;
  pixel: Pixel;
  policy: Policy;
}

/** Signs in with an API key, because the service sends no mails. */
export const signIn = async (page: Page, shop: { base: string; pixel: Pixel }): Promise<void> => {
  await page.goto(`${shop.base}/console/sign-in`);
  await page.getByLabel('API key').fill(shop.pixel.key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sites');
};

/** Records a choice in the form in which the tag sends it. Returns the receipt id. */
export const record = async (shop: Site, visitor: string, consent: string): Promise<string> => {
  const response = await fetch(`${shop.base}/v1/consent/record`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({
      pixel_id: shop.pixel.id,
      visitor_id: visitor,
      consent,
      affirmative: true,
      url: `https://${shop.pixel.host}/`,
      policy_version_hash: shop.policy.policy_hash,
      purposes: consent === 'accepted' ? ['analytics', 'resolution'] : undefined,
      shown: { language: 'de' },
    }),
  });
  expect(response.status).toBe(202);
  return ((await response.json()) as { receipt_id: string }).receipt_id;
};

/** Copies the shop's receipts into the last months, more on some days than on others. */
export const fillMonths = async (shop: Site): Promise<void> => {
  const client = new Client({ connectionString: process.env[ENVIRONMENT.databaseUrl] });
  await client.connect();
  await client.query(
    `INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash, purposes,
         recorded_at, signature, shown_language)
     SELECT pixel_id, gen_random_uuid(), visitor_id || '-' || day || '-' || n, origin, consent_state, policy_hash,
         purposes, recorded_at - make_interval(days => day), signature, (ARRAY['de', 'en', 'fr', NULL])[1 + n % 4]
     FROM consent_receipts, generate_series(1, 89) AS day,
         LATERAL generate_series(1, (CASE consent_state WHEN 'accepted' THEN 14 WHEN 'declined' THEN 8 ELSE 1 END
             * (2 + sin(day / 3.5) + day % 3 / 3.0))::int) AS n
     WHERE pixel_id = $1`,
    [shop.pixel.id],
  );
  await client.query(
    `INSERT INTO consent_shown (pixel_id, shown_on, visitor_id)
     SELECT pixel_id, (recorded_at AT TIME ZONE 'UTC')::date, visitor_id || '-' || n
     FROM consent_receipts, generate_series(1, 2) AS n WHERE pixel_id = $1 ON CONFLICT DO NOTHING`,
    [shop.pixel.id],
  );
  await client.end();
};
