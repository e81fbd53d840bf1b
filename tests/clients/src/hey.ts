// The client of @hey-api/openapi-ts, called once per kind of route. Functions are named after the
// operations, so the description's names are looked up where two could be meant.
import assert from 'node:assert/strict';
import * as api from '../generated/hey';
import { createClient } from '../generated/hey/client';

const baseUrl = process.argv[2];
const anyone = createClient({ baseUrl });

const main = async (): Promise<void> => {
  const plans = await api.listPlans({ client: anyone });
  assert.equal(plans.data?.plans[0].contacts_included, 500);

  const body = { email: 'hey@example.com', display_name: 'Hey' };
  const opened = await api.createAccount({ client: anyone, body });
  assert(opened.data?.verification_url, JSON.stringify(opened.error));
  const again = await api.createAccount({ client: anyone, body });
  assert.equal(again.error?.detail, 'email already registered');
  assert.equal((await fetch(opened.data.verification_url)).status, 200);
  const { signup_token } = opened.data;
  const issued = await api.issueApiKey({
    client: anyone,
    query: { account_id: opened.data.account_id },
    auth: ({ name }) => (name === 'x-signup-token' ? signup_token : undefined),
  });
  assert(issued.data, JSON.stringify(issued.error));

  const client = createClient({ baseUrl, auth: issued.data.api_key });
  const me = await api.whoami({ client });
  assert.equal(me.data?.account_id, opened.data.account_id);
  const created = await api.createPixel({ client, body: { domain: 'hey.example' } });
  assert(created.data);
  const path = { pixel_id: created.data.pixel_id };
  const renamed = await api.renamePixel({ client, path, body: { domain: 'renamed-hey.example' } });
  assert.equal(renamed.data?.domain, 'renamed-hey.example');
  const stored = await api.storeContacts({
    client,
    path,
    body: { contacts: [{ hem: 'ab'.repeat(32), contact: { first_name: 'Mara' } }] },
  });
  assert.equal(stored.data?.stored, 1);
  const read = await api.readContacts({ client, path, query: { after: 0 } });
  assert.equal(read.data?.contacts[0].hem, 'ab'.repeat(32));
  const refused = await api.storeContacts({ client, path, body: { contacts: [{ hem: 'x', contact: { a: 1 } }] } });
  assert.equal(refused.error?.detail, 'hem must be a 64-character hex string');

  const gone = await api.deletePixel({ client, path });
  assert.equal(gone.response.status, 204);
  const missing = await api.showPixel({ client, path });
  assert.equal(missing.error?.detail, 'pixel not found');
};

void main();
