import { createDatabase } from './database';
import { startForwarder } from './forwarder';
import { LOG_KEY, startService } from './service';
import { startSites } from './sites';

/** Environment variables that pass addresses to the workers. */
export const ENVIRONMENT = { base: 'TEST_BASE', sitesPort: 'TEST_SITES_PORT', databaseUrl: 'TEST_DATABASE_URL' };

export default async (): Promise<() => Promise<void>> => {
  const sites = await startSites();
  const forwarder = await startForwarder();
  const database = await createDatabase();
  const service = await startService({
    databaseUrl: database.url,
    cdnBase: `http://127.0.0.1:${sites.port}`,
    publicBase: forwarder.base,
    more: { LOG_KEY },
  }).catch(async (error: unknown) => {
    await database.drop();
    await forwarder.stop();
    await sites.stop();
    throw error;
  });
  forwarder.forwardTo(service.port);
  process.env[ENVIRONMENT.base] = forwarder.base;
  process.env[ENVIRONMENT.sitesPort] = String(sites.port);
  process.env[ENVIRONMENT.databaseUrl] = database.url;
  return async () => {
    await forwarder.stop();
    await service.stop();
    await database.drop();
    await sites.stop();
  };
};
