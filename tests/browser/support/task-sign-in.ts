import { Setup, takeCode } from './task-setup';
import { Task } from './tasks';

/** The names of the screens of the sign-in in a language. */
interface Words {
  signIn: string;
  address: string;
  send: string;
  check: string;
  code: string;
  go: string;
  sites: string;
}

const ENGLISH: Words = {
  signIn: 'Sign in',
  address: 'Email address',
  send: 'Send code',
  check: 'Check your email',
  code: '6-digit code',
  go: 'Continue',
  sites: 'Sites',
};

export const GERMAN: Words = {
  signIn: 'Anmelden',
  address: 'E-Mail-Adresse',
  send: 'Code senden',
  check: 'Prüfen Sie Ihre E-Mails',
  code: '6-stelliger Code',
  go: 'Weiter',
  sites: 'Websites',
};

/** Signs in as part of a task, from the home page. */
export const signInFromHome = async (person: Task, setup: Setup, email: string, words = ENGLISH): Promise<void> => {
  await person.start(setup.base);
  await person.click('link', words.signIn);
  await person.fill(words.address, email);
  await person.click('button', words.send);
  await person.isAt(words.check);
  await person.fill(words.code, await takeCode(setup, email));
  await person.click('button', words.go);
  await person.isAt(words.sites);
};
