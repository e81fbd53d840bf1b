import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Page } from '@playwright/test';
import { Client } from 'pg';
import { freshHost } from './console';
import { createDatabase, Database } from './database';
import { expect, test as plain } from './fixtures';
import { ENVIRONMENT } from './global-setup';
import { HttpsSite, startHttpsSite } from './https-site';
import { configureConsent, Pixel, Policy } from './integrator';
import { Mailboxes, startMailboxes } from './mailbox';
import { PaymentProvider, startPaymentProvider } from './payment-provider';
import { LOG_KEY, Service, startService } from './service';

export { expect, freshHost };

/** Hosts that the service reaches. Each belongs to at most one account, so one task uses it. */
export const HOSTS = { installed: 'bread.example', empty: 'cakes.example', receiver: 'hooks.example' };

/** A service that sends mails, and the servers of others. All tasks of a worker share it. */
export interface Setup {
  base: string;
  mailboxes: Mailboxes;
  provider: PaymentProvider;
  sites: Record<keyof typeof HOSTS, HttpsSite>;
  /** Runs a statement in the service's database, as by a clock that was moved. */
  change(sql: string, ...values: string[]): Promise<Record<string, unknown>[]>;
  /** Starts another node, which runs at once what is due, and stops it when that is done. */
  runDueWork(isDone: () => Promise<boolean>): Promise<void>;
}

/** A policy without gaps, so that it is published without a confirmation of these. */
export const COMPLETE_POLICY = {
  controller_name: 'Example Shop Ltd',
  controller_contact: 'privacy@shop.example',
  retention: '13 months',
  site_policy_url: 'https://shop.example/privacy',
  purposes: ['analytics', 'resolution'],
};

const settingsOf = (servers: Pick<Setup, 'mailboxes' | 'provider' | 'sites'>, authorities: string): Record<string, string> => {
  const { installed, empty, receiver } = servers.sites;
  const address = (host: string, { port }: HttpsSite): string => `${host}=127.0.0.1:${port}`;
  return {
    LOG_KEY,
    SMTP_URL: servers.mailboxes.url,
    INSTALL_CHECK_RESOLVE: `${address(HOSTS.installed, installed)},${address(HOSTS.empty, empty)}`,
    INSTALL_CHECK_CA_FILE: authorities,
    WEBHOOK_RESOLVE: address(HOSTS.receiver, receiver),
    WEBHOOK_CA_FILE: authorities,
    STRIPE_SECRET_KEY: 'sk_test_tasks',
    STRIPE_WEBHOOK_SECRET: 'whsec_tasks',
    STRIPE_PRICE_ID: 'price_tasks',
    STRIPE_API_BASE: servers.provider.base,
  };
};

export const test = plain.extend<object, { setup: Setup }>({
  setup: [
    async ({}, use) => {
      const folder = await mkdtemp(join(tmpdir(), 'assent-tasks-'));
      const authorities = join(folder, 'authorities.pem');
      const [installed, empty, receiver] = await Promise.all(Object.values(HOSTS).map(startHttpsSite));
      const sites = { installed, empty, receiver };
      await writeFile(authorities, Object.values(sites).map(({ certificate }) => `${certificate.trim()}\n`).join(''));
      const [mailboxes, provider] = [await startMailboxes(), await startPaymentProvider()];
      let database: Database | undefined;
      let service: Service | undefined;
      try {
        database = await createDatabase();
        const databaseUrl = database.url;
        const settings = {
          databaseUrl,
          cdnBase: `http://127.0.0.1:${process.env[ENVIRONMENT.sitesPort]}`,
          more: settingsOf({ mailboxes, provider, sites }, authorities),
        };
        service = await startService(settings);
        provider.linkTo(`${service.base}/console/account`);
        const change = async (sql: string, ...values: string[]): Promise<Record<string, unknown>[]> => {
          const client = new Client({ connectionString: databaseUrl });
          await client.connect();
          const result = await client.query(sql, values).finally(() => client.end());
          return result.rows;
        };
        const { base } = service;
        const runDueWork = async (isDone: () => Promise<boolean>): Promise<void> => {
          const node = await startService({ ...settings, publicBase: base });
          await expect.poll(isDone).toBe(true).finally(() => node.stop());
        };
        await use({ base, mailboxes, provider, sites, change, runDueWork });
      } finally {
        await service?.stop();
        await database?.drop();
        await Promise.all([mailboxes, provider, installed, empty, receiver].map((server) => server.stop()));
        await rm(folder, { recursive: true });
      }
    },
    { scope: 'worker', timeout: 120_000 },
  ],
});

const post = async (address: string, body: object, key?: string): Promise<any> => {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(address, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`POST ${address}: ${response.status} ${await response.text()}`);
  return response.json();
};

export interface Account {
  id: string;
  email: string;
  key: string;
}

/** A site with a published policy. */
export interface TaskSite {
  base: string;
  account: Account;
  pixel: Pixel;
  policy: Policy;
}

export const freshAddress = (name: string): string => `${name}-${randomBytes(5).toString('hex')}@shop.example`;

/** The six digits of the newest mail with a code. */
export const takeCode = async ({ mailboxes }: Setup, address: string): Promise<string> => {
  const { subject = '' } = await mailboxes.take(address, /^\d{6} /);
  return subject.slice(0, 6);
};

export const openAccount = async (setup: Setup, name = 'Ann Lee'): Promise<Account> => {
  const email = freshAddress('owner');
  const account = await post(`${setup.base}/v1/accounts`, { email, display_name: name });
  const confirmation = { code: await takeCode(setup, email), signup_token: account.signup_token };
  const { api_key: key } = await post(`${setup.base}/v1/accounts/${account.account_id}/confirm`, confirmation);
  return { id: account.account_id, email, key };
};

export const addSite = async ({ base }: Setup, account: Account, host = freshHost()): Promise<TaskSite> => {
  const { pixel_id: id, snippet: immediate } = await post(`${base}/v1/pixels`, { domain: host }, account.key);
  const pixel = { id, key: account.key, host, immediate };
  return { base, account, pixel, policy: await configureConsent(base, pixel, COMPLETE_POLICY) };
};

/** Opens an account with one site whose popup is live. */
export const openSite = async (setup: Setup, host?: string): Promise<TaskSite> =>
  addSite(setup, await openAccount(setup), host);

const hashOf = (email: string): string => createHash('sha256').update(email).digest('hex');

/** Stores a person with a name and an address, by default without a visitor. */
export const storePerson = ({ base, pixel }: TaskSite, name: string, email: string, visitor_id?: string): Promise<unknown> => {
  const contacts = [{ hem: hashOf(email), contact: { name, email }, visitor_id }];
  return post(`${base}/v1/pixels/${pixel.id}/contacts`, { contacts }, pixel.key);
};

/** Waits until the choice of a visitor is in the public log, so that there is evidence of it. */
export const waitForProof = ({ base, pixel }: TaskSite, visitor: string): Promise<void> => {
  const proof = `${base}/v1/consent/proof?pixel_id=${pixel.id}&visitor_id=${visitor}`;
  return expect.poll(async () => (await fetch(proof)).status, { timeout: 90_000 }).toBe(200);
};

/** Records that a person has asked by mail to be erased. */
export const recordRequest = ({ base, pixel }: TaskSite, email: string): Promise<unknown> =>
  post(`${base}/v1/pixels/${pixel.id}/erasure-requests`, { hem: hashOf(email) }, pixel.key);

/** Puts a page with the snippet on the site, and returns its address. */
export const putPage = async ({ pixel, policy }: TaskSite): Promise<string> => {
  const body = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Shop</title>
<meta name="viewport" content="width=device-width,initial-scale=1"><link rel="icon" href="data:,">
${policy.snippet}</head><body><main><h1>Example shop</h1><p>Fresh bread every morning.</p></main></body></html>`;
  const sites = `http://127.0.0.1:${process.env[ENVIRONMENT.sitesPort]}`;
  await fetch(`${sites}/__put`, { method: 'POST', body: JSON.stringify({ key: `${pixel.host}/`, page: { body } }) });
  return `http://${pixel.host}/`;
};

/** Signs in before a task begins, and leaves the person at the list of sites. */
export const signIn = async (page: Page, setup: Setup, email: string): Promise<void> => {
  await page.goto(`${setup.base}/console/sign-in`);
  await page.getByLabel('Email address').fill(email);
  await page.getByRole('button', { name: 'Send code' }).click();
  await page.getByLabel('6-digit code').fill(await takeCode(setup, email));
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Sites');
};
