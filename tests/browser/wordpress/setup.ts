import { createDatabase } from '../support/database';
import { createPixel } from '../support/integrator';
import { startService } from '../support/service';
import { startSites } from '../support/sites';
import { startWordPress } from './site';

/** Environment variables for the tests: the rules for hosts, the service, a key of another account, and the site's folder. */
export const ENVIRONMENT = { rules: 'TEST_HOST_RULES', base: 'TEST_BASE', key: 'TEST_KEY', folder: 'TEST_WORDPRESS' };

export default async (): Promise<() => Promise<void>> => {
  const stops: (() => Promise<void>)[] = [];
  const stopAll = async (): Promise<void> => {
    for (const stop of stops.reverse()) await stop();
  };
  try {
    const sites = await startSites();
    stops.push(sites.stop);
    const database = await createDatabase();
    stops.push(database.drop);
    const service = await startService({ databaseUrl: database.url, cdnBase: `http://127.0.0.1:${sites.port}` });
    stops.push(service.stop);
    const wordpress = await startWordPress();
    stops.push(wordpress.stop);
    const put = (key: string, body: string, type: string): Promise<unknown> =>
      fetch(`http://127.0.0.1:${sites.port}/__put`, { method: 'POST', body: JSON.stringify({ key, page: { body, headers: { 'Content-Type': type } } }) });
    await put('videos.example/embed', '<p>A video</p>', 'text/html');
    await put('stats.example/wordpress.js', 'window.statsRuns = (window.statsRuns || 0) + 1', 'text/javascript');
    // Another account has a site of its own, and nothing to do with this one.
    const { key } = await createPixel(service.base, 'another-site.example');
    process.env[ENVIRONMENT.rules] = `MAP wordpress.example:443 127.0.0.1:${wordpress.securePort}, MAP wordpress.example 127.0.0.1:${wordpress.port}, MAP *.example 127.0.0.1:${sites.port}`;
    process.env[ENVIRONMENT.base] = service.base;
    process.env[ENVIRONMENT.key] = key;
    process.env[ENVIRONMENT.folder] = wordpress.folder;
  } catch (error) {
    await stopAll();
    throw error;
  }
  return stopAll;
};
