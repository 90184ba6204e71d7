/** Large payloads in a bucket: what is sent to its server, and what is made of its answers.
 *  It must not check signatures: `npm run test:archive` does, against real servers, for the requests that both make. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createBucketObjects } from '../../../../src/features/archive/bucket-objects.ts';
import { createPayloadObjects } from '../../../../src/features/archive/payload-objects.ts';
import { ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { PayloadLost } from '../../../../src/store/request/large-payloads.ts';

const held = new Map<string, Buffer>();
const SECRET = 'secret-of-the-bucket';
let refuses: number | null = null;
const server = createServer((request, response) => {
  void (async () => {
    const path = request.url ?? '';
    if (refuses !== null) return void response.writeHead(refuses).end('<Code>SlowDown</Code>');
    if (request.method === 'PUT') {
      const parts: Buffer[] = [];
      for await (const part of request) parts.push(part as Buffer);
      const body = Buffer.concat(parts);
      const isWhole = request.headers['x-amz-content-sha256'] === hash('sha256', body, 'hex');
      if (isWhole) held.set(path, body);
      return void response.writeHead(isWhole ? 200 : 400).end();
    }
    const found = held.get(path);
    response.writeHead(found === undefined ? 404 : 200).end(found);
  })();
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

function objects() {
  const store = createBucketObjects({
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bucket: 'payloads',
    region: 'us-east-1',
    prefix: 'p/',
    accessKeyId: 'id',
    secretAccessKey: SECRET,
  });
  return createPayloadObjects({ store, installation: 'adjutant', aboveBytes: 1 });
}

test('each lies under its request and its hash, and is read back', async () => {
  const ref = await objects().put('acme~r', Buffer.from('large'));
  expect([...held.keys()]).toEqual([`/payloads/p/i-adjutant/t-acme/r-r/${ref.sha256}`]);
  expect((await objects().get('acme~r', ref)).toString()).toBe('large');
});

test('of other bytes, fewer, more or none it is lost, and of another request it is not there', async () => {
  const ref = await objects().put('r', Buffer.from('large'));
  const [name = ''] = [...held.keys()].filter((path) => path.includes('/t-default/'));
  for (const other of ['LARGE', 'larg', 'large and more']) {
    held.set(name, Buffer.from(other));
    await expect(objects().get('r', ref)).rejects.toThrow(PayloadLost);
  }
  held.delete(name);
  await expect(objects().get('r', ref)).rejects.toThrow(PayloadLost);
  await expect(objects().get('s', ref)).rejects.toThrow(PayloadLost);
});

test('a server that refuses is away, not empty, and its error shows no key', async () => {
  refuses = 503;
  const ref = { sha256: 'a'.repeat(64), bytes: 5 };
  for (const asked of [objects().get('r', ref), objects().put('r', Buffer.from('x'))]) {
    const error: unknown = await asked.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ServiceUnavailable);
    expect(String(error)).toContain('503 SlowDown');
    expect(String(error)).not.toContain(SECRET);
  }
  refuses = null;
});
