import { createDatabase, Database } from './database';
import { test as plain } from './fixtures';
import { ENVIRONMENT } from './global-setup';
import { Mailboxes, startMailboxes } from './mailbox';
import { Service, startService } from './service';

/** A separate service that sends mails. */
export interface MailService {
  mailboxes: Mailboxes;
  service: Service;
}

export const test = plain.extend<{ setup: MailService }>({
  setup: async ({}, use) => {
    const mailboxes = await startMailboxes();
    let database: Database | undefined;
    let service: Service | undefined;
    try {
      database = await createDatabase();
      service = await startService({
        databaseUrl: database.url,
        cdnBase: `http://127.0.0.1:${process.env[ENVIRONMENT.sitesPort]}`,
        more: { SMTP_URL: mailboxes.url },
      });
      await use({ mailboxes, service });
    } finally {
      await service?.stop();
      await database?.drop();
      await mailboxes.stop();
    }
  },
});
