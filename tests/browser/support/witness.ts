import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A witness that cosigns every checkpoint (c2sp.org/tlog-cosignature). */
export interface Witness {
  /** The witness's line in a trust policy. */
  line: string;
  /** The path of a trust policy with this witness and no quorum. */
  policyFile: string;
  stop(): void;
}

const NAME = 'witness.example/w1';

export const startWitness = async (): Promise<Witness> => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  const typed = Buffer.concat([Buffer.of(4), raw]);
  const id = createHash('sha256').update(`${NAME}\n`).update(typed).digest().subarray(0, 4);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(404).end();
      const [, signed] = Buffer.concat(chunks).toString().split('\n\n');
      const time = Math.floor(Date.now() / 1000);
      const signature = sign(null, Buffer.from(`cosignature/v1\ntime ${time}\n${signed}\n`), privateKey);
      const timestamp = Buffer.alloc(8);
      timestamp.writeBigUInt64BE(BigInt(time));
      response.end(`\u2014 ${NAME} ${Buffer.concat([id, timestamp, signature]).toString('base64')}\n`);
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const key = `${NAME}+${id.toString('hex')}+${typed.toString('base64')}`;
  const line = `witness w1 ${key} http://127.0.0.1:${port}\n`;
  const policyFile = join(await mkdtemp(join(tmpdir(), 'assent-witness-')), 'policy');
  await writeFile(policyFile, `${line}quorum none\n`);
  return { line, policyFile, stop: () => void server.close() };
};
