/** Notices that a person is needed, through the whole service: who is notified of which approval or question, when, and until when.
 *  It must never look into the service: a receiver over HTTP verifies and counts. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import { type Asked, webhookEventSchema } from '../../../../src/contract/signal/webhook-event.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { newSecret, startReceiver } from '../../../support/webhook-receiver.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'asks-'));
const SECRET = newSecret();
const receiver = shared(async () => startReceiver(SECRET));
const redis = useRedis();

const book = { tool_calls: [{ name: 'modern.book', arguments: { label: 'trip', password: 'hunter2' } }] };
writeFileSync(
  join(FOLDER, 'turns.json'),
  JSON.stringify({ turns: [{ when: { tool_results: true }, text: 'done' }, book] }),
);

const service = shared(async () => {
  const endpoint = (asks: object, more: object = {}) => ({
    url: `${receiver.url}/ok`,
    secrets: [SECRET],
    private_addresses: true,
    asks,
    ...more,
  });
  const started = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: {
        modern: {
          ...ownServerEntry('asking-peer.ts', { ASKING_LOG: join(FOLDER, 'log') }),
          questions: true,
        },
      },
      providers: { scripted: { type: 'scripted', file: join(FOLDER, 'turns.json') } },
      models: { scripted: 'scripted:any' },
      agents: {
        asker: {
          model_alias: 'scripted',
          tools: ['modern.book'],
          policies: { approvals: { '*': 'ask' } },
        },
        hasty: {
          model_alias: 'scripted',
          tools: ['modern.book'],
          policies: { approvals: { '*': 'ask' }, approval_timeout_ms: 1_000 },
        },
      },
      webhooks: {
        public_url: 'https://adjutant.example.com/',
        endpoints: {
          first: endpoint({ agents: ['asker'] }, { url: `${receiver.url}/ok?first` }),
          nagged: endpoint({ agents: ['asker'], repeat_ms: 1_000 }, { url: `${receiver.url}/ok?nagged` }),
          boss: endpoint({ agents: ['asker'], after_ms: 1_500 }, { url: `${receiver.url}/ok?boss` }),
          late: endpoint({ agents: ['asker'], after_ms: 3_600_000 }, { url: `${receiver.url}/ok?late` }),
          questions: endpoint(
            { kinds: ['question'], tools: ['modern.*'] },
            { url: `${receiver.url}/ok?questions` },
          ),
          strangers: endpoint({}, { tenants: ['other'], url: `${receiver.url}/ok?strangers` }),
        },
      },
    },
  });
  await untilListed(started.url, 'modern.book');
  return started;
});
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

/** Of one endpoint about one request, in the order of their arrival. */
const asked = (requestId: string, endpoint: string): { id: string; event: Asked }[] =>
  receiver
    .about(requestId)
    .filter(({ path }) => path === `/ok?${endpoint}`)
    .map(({ id, event }) => ({ id, event: webhookEventSchema.parse(event) as Asked }));

/** Issue 35, point 8. */
describe('a call that waits for approval', () => {
  test('notifies at once with the page and the question; again where reminders are wanted; others later', async () => {
    const query = JSON.stringify({ task: 'book a trip', api_key: 'k-123' });
    await client.runs.start({ request_id: 'trip', agent: 'asker', query });
    await eventually(() => asked('trip', 'first').length).toBe(1);
    const [notice] = asked('trip', 'first');
    expect(notice?.event).toMatchObject({
      type: 'approval.requested',
      data: {
        kind: 'approval',
        request_id: 'trip',
        tenant: 'default',
        tool: 'modern.book',
        agent: 'asker',
        arguments: '{"label":"trip","password":"[REDACTED]"}',
        query: '{"task":"book a trip","api_key":"[REDACTED]"}',
        reminder: 0,
        url: `/v1/requests/trip/approvals/${notice?.event.data.call_id}`,
        page: 'https://adjutant.example.com/console/requests/trip',
      },
    });
    await eventually(() => asked('trip', 'nagged').length).toBeGreaterThan(1);
    await eventually(() => asked('trip', 'boss').length).toBe(1);
    const nagged = asked('trip', 'nagged');
    expect(new Set(nagged.map(({ id }) => id)).size).toBe(nagged.length);
    expect(nagged.map(({ event }) => event.data.reminder)).toEqual(
      nagged.map(({ event }) => event.data.reminder).toSorted((left, right) => left - right),
    );
    const texts = async () =>
      (await client.requests({ q: 'decision about trip' })).requests.map(({ text }) => text);
    await eventually(texts).toContain(`to first, decision about trip/${notice?.event.data.call_id}`);
    const { approvals } = await client.approvals();
    const listed = approvals.find(({ request_id: id }) => id === 'trip');
    expect(listed).toMatchObject({ query: '{"task":"book a trip","api_key":"[REDACTED]"}' });
    await client.runs.decide('trip', notice?.event.data.call_id ?? '', { decision: 'deny' });
    await eventually(async () => (await client.request('trip'))?.run?.status).toBe('completed');
    expect([asked('trip', 'first').length, asked('trip', 'late'), asked('trip', 'strangers')]).toEqual([
      1,
      [],
      [],
    ]);
    expect(asked('trip', 'questions')).toEqual([]);
  });

  test('is decided about together with others, each with the rules of a single decision', async () => {
    const ids = ['both-1', 'both-2'];
    for (const request_id of ids) await client.runs.start({ request_id, agent: 'asker', query: 'book' });
    const waiting = async () =>
      (await client.approvals()).approvals.filter(({ request_id: id }) => ids.includes(id));
    await eventually(async () => (await waiting()).length).toBe(2);
    const calls = (await waiting()).map(({ request_id, call_id }) => ({ request_id, call_id }));
    const unknown = { request_id: 'both-1', call_id: 'nothing' };
    const { decided, refused } = await client.runs.decideAll({
      decision: 'deny',
      by: 'ann',
      calls: [...calls, unknown],
    });
    expect(decided.map(({ request_id, by }) => `${request_id} by ${by}`).toSorted()).toEqual([
      'both-1 by ann',
      'both-2 by ann',
    ]);
    expect(refused).toMatchObject([{ ...unknown, code: 'not_found' }]);
    const again = await client.runs.decideAll({ decision: 'approve', calls });
    expect(again.decided).toEqual([]);
    expect(again.refused.map(({ code }) => code)).not.toContain('not_found');
    for (const id of ids)
      await eventually(async () => (await client.request(id))?.run?.status).toBe('completed');
  });

  test('no one decides about ends its run as failed, and says so', async () => {
    await client.runs.start({ request_id: 'undecided', agent: 'hasty', query: 'book' });
    await eventually(async () => (await client.request('undecided'))?.run).toMatchObject({
      status: 'failed',
      termination_reason: 'approval_expired',
      error: { type: 'approval_expired', details: { approval_timeout_ms: 1_000 } },
    });
    expect(receiver.about('undecided')).toEqual([]);
  });
});

describe('a question of a tool', () => {
  test('notifies with where it is answered', async () => {
    await client.submit({
      type: 'tool_exec',
      tool_name: 'modern.book',
      request_id: 'booking',
      id: 'c',
      arguments: { label: 'booking' },
    });
    await eventually(() => asked('booking', 'questions').length).toBe(1);
    const [notice] = asked('booking', 'questions');
    const [open] = (await client.directive('booking', 'c'))?.inputs ?? [];
    expect(notice?.event).toMatchObject({
      type: 'question.asked',
      data: {
        kind: 'question',
        tool: 'modern.book',
        agent: null,
        query: null,
        input_id: open?.input_id,
        url: `/v1/requests/booking/inputs/${encodeURIComponent(open?.input_id ?? '')}`,
      },
    });
    expect(asked('booking', 'first')).toEqual([]);
    await client.cancel('booking');
  });
});
