import { execFileSync } from 'node:child_process';
import { createDatabase } from '../support/database';
import { configureConsent, createPixel, PLAIN_POLICY } from '../support/integrator';
import { binary, startService } from '../support/service';
import { startSites } from '../support/sites';
import { App, APPS, startApp } from './apps';

/** The variable that contains the rules with which the browser finds the hosts. */
export const HOST_RULES = 'TEST_HOST_RULES';

/** Starts the service, the hosts of third parties, and every application with a pixel and an alias of its own. */
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
    const put = (key: string, body: string, type: string): Promise<unknown> =>
      fetch(`http://127.0.0.1:${sites.port}/__put`, { method: 'POST', body: JSON.stringify({ key, page: { body, headers: { 'Content-Type': type } } }) });
    await put('videos.example/embed', '<p>A video</p>', 'text/html');
    const rules = [`MAP consent.example 127.0.0.1:${service.port}`];
    const started: App[] = await Promise.all(APPS.map(startApp));
    stops.push(...started.map(({ stop }) => stop));
    for (const [index, name] of APPS.entries()) {
      const pixel = await createPixel(service.base, `${name}.example`);
      await configureConsent(service.base, pixel, PLAIN_POLICY);
      execFileSync(binary(), ['alias', pixel.id, name], { env: { ...process.env, DATABASE_URL: database.url }, stdio: 'pipe' });
      await put(`stats.example/${name}.js`, 'window.statsRuns = (window.statsRuns || 0) + 1', 'text/javascript');
      rules.push(`MAP ${name}.example 127.0.0.1:${started[index].port}`);
    }
    process.env[HOST_RULES] = [...rules, `MAP *.example 127.0.0.1:${sites.port}`].join(', ');
  } catch (error) {
    await stopAll();
    throw error;
  }
  return stopAll;
};
