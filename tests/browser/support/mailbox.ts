import { AddressInfo } from 'node:net';
import { ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

/** A mail server that accepts every mail, and its mailboxes. */
export interface Mailboxes {
  /** For the service's `SMTP_URL`. */
  url: string;
  /** Waits for the newest mail to an address with a matching subject, and removes it. */
  take(to: string, subject: RegExp): Promise<ParsedMail>;
  stop(): Promise<void>;
}

/** Enough for a mail to arrive on a busy machine. */
const TIMEOUT_MS = 30_000;

export const startMailboxes = (): Promise<Mailboxes> => {
  const mails: ParsedMail[] = [];
  const server = new SMTPServer({
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData: (stream, _session, done) => {
      simpleParser(stream).then(
        (mail) => {
          mails.push(mail);
          done();
        },
        (error: Error) => done(error),
      );
    },
  });
  const isTo = (mail: ParsedMail, to: string): boolean => [mail.to].flat().some((list) => list?.text.includes(to));
  const take = async (to: string, subject: RegExp): Promise<ParsedMail> => {
    const deadline = Date.now() + TIMEOUT_MS;
    while (Date.now() < deadline) {
      const index = mails.findLastIndex((mail) => isTo(mail, to) && subject.test(mail.subject ?? ''));
      if (index >= 0) return mails.splice(index, 1)[0];
      await new Promise((done) => setTimeout(done, 50));
    }
    throw new Error(`no mail like ${subject} to ${to}; there are: ${mails.map((mail) => mail.subject).join('; ')}`);
  };
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.server.address() as AddressInfo;
      const stop = (): Promise<void> => new Promise((done) => server.close(() => done()));
      resolve({ url: `smtp://127.0.0.1:${port}`, take, stop });
    });
  });
};
