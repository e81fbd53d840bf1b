import { h } from '../shared/dom';

type Fields = Record<string, string>;

/** A public key credential in a server's JSON: bytes are base64url. */
interface CredentialId {
  type: 'public-key';
  id: string;
}

const decode = (text: string): BufferSource =>
  Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (character) => character.charCodeAt(0));

const encode = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');

const fieldsOf = (form: HTMLFormElement): Fields => Object.fromEntries(new FormData(form)) as Fields;

/** Loads the options of a ceremony. Rejects if the service refuses them. */
const loadOptions = async (path: string, form: HTMLFormElement) => {
  const response = await fetch(`${path}/options`, { method: 'POST', body: new URLSearchParams(fieldsOf(form)) });
  if (!response.ok) throw new Error();
  return response.json();
};

const withBytes = (credential: CredentialId) => ({ ...credential, id: decode(credential.id) });

const create = async (path: string, form: HTMLFormElement): Promise<Fields> => {
  const options = await loadOptions(path, form);
  const publicKey = {
    ...options,
    challenge: decode(options.challenge),
    user: { ...options.user, id: decode(options.user.id) },
    excludeCredentials: options.excludeCredentials.map(withBytes),
  };
  const { response } = (await navigator.credentials.create({ publicKey })) as PublicKeyCredential;
  const attestation = response as AuthenticatorAttestationResponse;
  return {
    client_data: encode(attestation.clientDataJSON),
    authenticator_data: encode(attestation.getAuthenticatorData()),
    public_key: encode(attestation.getPublicKey()!),
  };
};

const use = async (path: string, form: HTMLFormElement): Promise<Fields> => {
  const options = await loadOptions(path, form);
  const publicKey = { ...options, challenge: decode(options.challenge) };
  const { rawId, response } = (await navigator.credentials.get({ publicKey })) as PublicKeyCredential;
  const assertion = response as AuthenticatorAssertionResponse;
  return {
    credential_id: encode(rawId),
    client_data: encode(assertion.clientDataJSON),
    authenticator_data: encode(assertion.authenticatorData),
    signature: encode(assertion.signature),
    user_handle: encode(assertion.userHandle!),
  };
};

/** Sends the fields as a form of its own, so that the form on the page stays as it is. */
const post = (action: string, fields: Fields): void => {
  const inputs = Object.entries(fields).map(([name, value]) => h('input', { type: 'hidden', name, value }));
  const form = h('form', { method: 'post', action, hidden: true }, ...inputs);
  document.body.append(form);
  form.submit();
};

/** Shows a part of the page that needs passkeys, and activates its button, whose attributes contain error texts. */
const setUp = (part: HTMLElement): void => {
  const button = part.querySelector<HTMLButtonElement>('[data-passkey]')!;
  const status = part.querySelector<HTMLElement>('[role=alert]')!;
  const path = button.dataset.passkey!;
  const isNew = button.dataset.new !== undefined;
  let isBusy = false;
  part.hidden = false;
  button.onclick = async () => {
    if (isBusy) return;
    isBusy = true;
    status.textContent = '';
    const form = button.form!;
    try {
      const fields = await (isNew ? create : use)(path, form);
      post(path, { ...fieldsOf(form), ...fields });
    } catch (error) {
      const { exists, failed } = button.dataset;
      status.textContent = ((error as Error).name === 'InvalidStateError' && exists) || failed!;
    }
    isBusy = false;
  };
};

if (window.PublicKeyCredential && navigator.credentials) {
  document.querySelectorAll<HTMLElement>('[data-passkeys]').forEach(setUp);
}
