import { randomBytes } from 'node:crypto';
import { Client } from 'pg';

export interface Database {
  url: string;
  drop(): Promise<void>;
}

/** Creates a database on the server that `DATABASE_URL` names. */
export const createDatabase = async (): Promise<Database> => {
  const server = process.env.DATABASE_URL;
  if (!server) throw new Error('DATABASE_URL must name a PostgreSQL whose user may create databases');
  const name = `assent_browser_${randomBytes(6).toString('hex')}`;
  const run = async (sql: string): Promise<void> => {
    const client = new Client({ connectionString: server });
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await run(`CREATE DATABASE ${name}`);
  return { url: withDatabase(server, name), drop: () => run(`DROP DATABASE ${name} WITH (FORCE)`) };
};

/** The address of another database on the same server; also for addresses without a host (`postgres:///name?host=/run/postgresql`). */
const withDatabase = (server: string, name: string): string =>
  server.replace(/^(\w+:\/\/[^/?]*)(\/[^?]*)?/, (_all, start: string) => `${start}/${name}`);
