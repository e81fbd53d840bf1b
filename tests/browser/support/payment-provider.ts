import { createServer } from 'node:http';
import { AddressInfo } from 'node:net';

/** A payment provider that opens pages to pay on and to cancel on, and knows no subscriptions. */
export interface PaymentProvider {
  base: string;
  /** Sets the address to which its pages link. */
  linkTo(address: string): void;
  stop(): Promise<void>;
}

export const startPaymentProvider = (): Promise<PaymentProvider> => {
  let base = '';
  let shopAddress = '';
  let sessions = 0;
  const server = createServer((request, response) => {
    const answer = (status: number, type: string, body: string): void => {
      response.writeHead(status, { 'Content-Type': type }).end(body);
    };
    const json = (status: number, value: object): void => answer(status, 'application/json', JSON.stringify(value));
    const show = (heading: string): void =>
      answer(200, 'text/html; charset=utf-8', `<!doctype html><html lang="en"><head><title>${heading}</title>
<link rel="icon" href="data:,"></head><body><h1>${heading}</h1><p><a href="${shopAddress}">Return</a></p></body></html>`);
    request.resume();
    switch (`${request.method} ${request.url}`) {
      case 'POST /v1/checkout/sessions':
        sessions += 1;
        return json(200, { id: `cs_test_${sessions}`, url: `${base}/pay`, mode: 'subscription', status: 'open' });
      case 'POST /v1/billing_portal/sessions':
        return json(200, { url: `${base}/cancel` });
      case 'GET /pay':
        return show('Card details');
      case 'GET /cancel':
        return show('Cancel the subscription');
      default:
        return json(404, { error: { type: 'invalid_request_error', code: 'resource_missing' } });
    }
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const linkTo = (address: string): void => {
        shopAddress = address;
      };
      const stop = (): Promise<void> =>
        new Promise((done) => {
          server.closeAllConnections();
          server.close(() => done());
        });
      resolve({ base, linkTo, stop });
    });
  });
};
