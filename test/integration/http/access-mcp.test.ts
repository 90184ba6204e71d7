/** Keys and /mcp: a call of a tool is its caller's, and so is a session.
 *  It must not look into the server: only requests as a host sends them, and the audit. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import type { CreatedKey } from '../../../src/contract/access/access.ts';
import { eventually } from '../../support/eventually.ts';
import { askModern } from '../../support/modern-requests.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');

describe('a call of a tool through /mcp', () => {
  const both = shared(async () => {
    const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
    const roles = { api: true, worker: true };
    const config = { limits: { mcp_hold_ms: 1_000 } };
    return startService({ redisUrl: redis.url, roles, environment, config });
  });
  const admin = () => createAccessClient({ baseUrl: both.url, apiKey: ADMIN });
  const echo = { method: 'tools/call', params: { name: 'peer.echo', arguments: { a: 1 } } };

  async function keysOfBoth(): Promise<{ reader: CreatedKey; writer: CreatedKey }> {
    const listed = async () =>
      createHttpClient({ baseUrl: both.url, apiKey: ADMIN })
        .tools()
        .then((tools) => JSON.stringify(tools));
    await eventually(listed).toContain('peer.echo');
    const access = admin();
    const reader = await access.create({ name: 'reader', scopes: ['read'] });
    return { reader, writer: await access.create({ name: 'writer', scopes: ['read', 'submit'] }) };
  }

  const modern = async (key: string) =>
    askModern(`${both.url}/mcp`, { ...echo, name: echo.params.name, key });

  async function legacy(key: string, message: object, session: string | null) {
    const response = await fetch(`${both.url}/mcp`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(session === null ? {} : { 'mcp-session-id': session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
    });
    return { session: response.headers.get('mcp-session-id'), text: await response.text() };
  }

  // Issue 33, point 2: bodies of megabytes were parsed for callers that may submit nothing.
  test.each(['whole', 'streamed'])(
    'with more than 64 KiB (%s) is read only of a caller that may submit',
    async (form) => {
      const { reader, writer } = await keysOfBoth();
      const statusOf = async (key: string, characters: number): Promise<number> => {
        const params = { name: 'peer.echo', arguments: { a: 'x'.repeat(characters) } };
        const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
        const body = form === 'whole' ? text : new Blob([text]).stream();
        return (
          await fetch(`${both.url}/mcp`, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
        ).status;
      };
      expect(await statusOf(reader.key, 200_000)).toBe(413);
      expect(await statusOf(reader.key, 10_000)).not.toBe(413);
      expect(await statusOf(writer.key, 200_000)).not.toBe(413);
    },
  );

  test('needs the scope submit, of each request: also at the same time; and the session of another key is none', async () => {
    const { reader, writer } = await keysOfBoth();
    const clientInfo = { name: 'host', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const { session } = await legacy(writer.key, { method: 'initialize', params }, null);
    const ofReader = await legacy(reader.key, { method: 'initialize', params }, null);
    const rounds = Array.from({ length: 5 }, async (_, id) => {
      const called = { ...echo, id: id + 2 };
      const [refused, answered, ...texts] = await Promise.all([
        modern(reader.key),
        modern(writer.key),
        legacy(reader.key, { ...called, id: id + 20 }, session),
        legacy(writer.key, called, session),
        legacy(reader.key, called, ofReader.session),
      ]);
      expect(refused.error).toMatchObject({ message: expect.stringContaining('scope submit') as string });
      expect(answered.result).toMatchObject({ content: [{ type: 'text', text: '{"a":1}' }] });
      const [stranger, own, unable] = texts.map(({ text }) => text);
      expect(stranger).toContain('Session not found');
      expect(own).toContain(String.raw`{\"a\":1}`);
      expect(unable).toContain('scope submit');
    });
    await Promise.all(rounds);
    const submissions = async () => {
      const { entries } = await admin().audit({ log: 'submissions', limit: 100 });
      return entries.map(({ by }) => by.name);
    };
    await eventually(submissions).toEqual(Array.from({ length: 10 }, () => 'writer'));
  });

  test('is continued by the key that began it: a task or a held call of another key is none', async () => {
    const { writer } = await keysOfBoth();
    const scopes = ['read', 'submit', 'cancel'] as const;
    const { key: other } = await admin().create({ name: 'other', scopes: [...scopes] });
    const { key: foreign } = await admin().create({ name: 'foreign', tenant: 'acme', scopes: [...scopes] });
    const name = 'peer.wait';
    const params = { name, arguments: {} };
    const extensions = ['io.modelcontextprotocol/tasks'];
    const endpoint = `${both.url}/mcp`;
    const begun = await askModern(endpoint, {
      method: 'tools/call',
      name,
      params,
      extensions,
      key: writer.key,
    });
    const taskId = String(begun.result?.['taskId']);
    const task = async (method: string, key: string) =>
      askModern(endpoint, { method, name: taskId, params: { taskId }, extensions, key });
    for (const key of [other, foreign])
      for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
        expect((await task(method, key)).error?.code, method).toBe(-32_602);
    expect((await task('tasks/get', writer.key)).result).toMatchObject({ status: 'working' });

    const held = await askModern(endpoint, { method: 'tools/call', name, params, key: writer.key });
    const requestState = String(held.result?.['requestState']);
    const back = { method: 'tools/call', name, params: { ...params, requestState } };
    for (const key of [other, foreign])
      expect((await askModern(endpoint, { ...back, key })).error?.code).toBe(-32_602);
    expect((await askModern(endpoint, { ...back, key: writer.key })).result).toHaveProperty('requestState');
  });
});
