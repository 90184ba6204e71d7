/** Notices of ends through the whole service: who is notified of what, how often, and what becomes of a delivery that fails.
 *  It must never look into the service: a receiver over HTTP verifies and counts. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import { webhookEventSchema } from '../../../../src/contract/signal/webhook-event.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { spawnNode } from '../../../support/process.ts';
import { PROGRAM } from '../../../support/program.ts';
import { post } from '../../../support/public-api.ts';
import { type RunningService, startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { newSecret, startReceiver } from '../../../support/webhook-receiver.ts';

const [OLD, NEW] = [newSecret(), newSecret()];
const receiver = shared(async () => startReceiver(OLD));
const redis = useRedis();
const QUICK = { retry_backoff_ms: 1, timeout_ms: 1_000 };
let service: RunningService;
let client: DirectiveClient;

beforeAll(async () => {
  const endpoint = (path: string, more: object = {}) => ({
    url: `${receiver.url}${path}`,
    secrets: [NEW, OLD],
    private_addresses: true,
    ...QUICK,
    ...more,
  });
  service = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: { peer: ownServerEntry('legacy-peer.ts'), ruled: ownServerEntry('legacy-peer.ts') },
      agents: { poor: { model: 'nobody:nothing' } },
      webhooks: {
        endpoints: {
          named: endpoint('/ok', { headers: { authorization: 'Bearer mine' } }),
          second: endpoint('/fails-once'),
          busy: endpoint('/busy-once'),
          never: endpoint('/fails', { max_retries: 1 }),
          shut: endpoint('/gone'),
          down: endpoint('/fails', { max_retries: 1, retry_backoff_ms: 600_000 }),
          redirect: endpoint('/redirect'),
          once: endpoint('/fails-once', { max_retries: 0 }),
          endless: endpoint('/endless'),
          headers: endpoint('/many-headers', { max_retries: 0 }),
          silent: endpoint('/silent', { max_retries: 0, timeout_ms: 100 }),
          small: endpoint('/ok', { payload_bytes: 64 }),
          inside: endpoint('/ok', { private_addresses: false }),
          others: endpoint('/ok', { tenants: ['other'] }),
          ruled: endpoint('/ok', {
            match: { types: ['tool_exec'], statuses: ['cancelled'], lanes: ['tool.ruled'] },
          }),
        },
        callers_may_give_urls: { secrets: [OLD], private_addresses: true, ...QUICK },
      },
    },
  });
  client = createHttpClient({ baseUrl: service.url });
  await untilListed(service.url, 'peer.echo', 'ruled.echo');
  const direct = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix });
  await direct.submit(call('direct', { delay_ms: 3_600_000, on_end: 'named' }));
  await direct.submit(call('direct-late', { delay_ms: 7_200_000, on_end: 'named' }));
  await direct.cancel('direct', 'd');
  await direct.close();
});
afterAll(async () => service.stop());

const call = (request_id: string, more: object = {}) => ({
  type: 'tool_exec' as const,
  tool_name: 'peer.echo',
  arguments: { a: 1 },
  request_id,
  id: 'd',
  ...more,
});
const one = (requestId: string) => eventually(() => receiver.about(requestId).length).toBe(1);
const deliveryOf = async (requestId: string) => {
  const { requests } = await client.requests({ limit: 200 });
  const views = requests.filter(({ request_id }) => request_id.startsWith('webhook.'));
  for (const { request_id } of views) {
    const view = await client.request(request_id);
    for (const { id } of view?.directives ?? []) {
      const directive = await client.directive(request_id, id);
      const { ended } = (directive?.directive.metadata ?? {}) as { ended?: { request_id: string } };
      if (ended?.request_id === requestId) return directive;
    }
  }
  return null;
};
const failureOf = (requestId: string) =>
  eventually(async () => {
    const delivery = await deliveryOf(requestId);
    return (delivery?.result?.data as { result?: { error?: unknown } } | undefined)?.result?.error;
  });

describe('an end that is to be passed on', () => {
  test('is delivered once, signed, with what was returned', async () => {
    await client.submit(call('plain', { on_end: 'named' }));
    await one('plain');
    const [received] = receiver.about('plain');
    const { event, id, headers = {} } = received ?? {};
    expect(webhookEventSchema.parse(event)).toMatchObject({
      type: 'directive.ended',
      data: {
        id: 'd',
        status: 'succeeded',
        name: 'peer.echo',
        lane: 'tool.peer',
        tenant: 'default',
        error: null,
      },
    });
    expect(JSON.stringify(event?.data.result)).toContain('a');
    expect(headers).toMatchObject({ authorization: 'Bearer mine', 'content-type': 'application/json' });
    expect(String(received?.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(id).toMatch(/^msg_[0-9a-f]{32}$/);
  });

  test('has one id, whoever gets it and however often it is submitted', async () => {
    const both = call('both', { on_end: ['named', 'second', { url: `${receiver.url}/ok` }, 'named'] });
    await client.submit(both);
    await client.submit(both);
    await eventually(() =>
      receiver
        .about('both')
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['/fails-once', '/fails-once', '/ok', '/ok']);
    expect(new Set(receiver.about('both').map(({ id }) => id)).size).toBe(1);
  });

  test('may be that of an unknown tool, a cancellation, or a missed begin', async () => {
    await client.submit(call('unknown', { tool_name: 'nobody.nothing', on_end: 'named' }));
    await client.submit(call('later', { delay_ms: 3_600_000, on_end: 'named' }));
    await client.cancel('later', 'd');
    await client.submit(call('passed', { tool_name: 'peer.wait', on_end: 'named', deadline_ms: 50 }));
    await Promise.all([one('unknown'), one('later'), one('passed')]);
    const notified = (id: string) =>
      receiver.about(id).map(({ event }) => [event.data.status, event.data.error]);
    expect(notified('unknown')).toMatchObject([['failed', { type: 'unknown_tool' }]]);
    expect(notified('passed')).toMatchObject([['failed', { type: 'deadline_exceeded' }]]);
    expect(notified('later')).toMatchObject([['cancelled', { type: 'cancelled' }]]);
  });

  test('may be that of a run', async () => {
    await client.runs.start({ agent: 'poor', query: 'x', request_id: 'run', on_end: 'named' });
    await one('run');
    expect(webhookEventSchema.parse(receiver.about('run')[0]?.event)).toMatchObject({
      type: 'run.ended',
      data: { agent: 'poor', status: 'failed', url: '/v1/requests/run' },
    });
  });

  test('is that of each end of a run that was resumed', async () => {
    const run = { agent: 'poor', query: 'x', request_id: 'resumed', on_end: 'named' };
    await client.runs.start(run);
    await one('resumed');
    await client.runs.resume('resumed');
    await eventually(() => receiver.about('resumed').length).toBe(2);
    const ends = receiver.about('resumed').map(({ event }) => webhookEventSchema.parse(event));
    expect(ends.map(({ data }) => ('resumed' in data ? data.resumed : null))).toEqual([null, 1]);
  });

  test('is passed on by the service when whoever ended it does not', async () => {
    // It was cancelled before all other tests, by a program that notifies nobody.
    await one('direct');
    expect(receiver.about('direct')[0]?.event.data.status).toBe('cancelled');
  });

  test('says where to read a result that is too large', async () => {
    await client.submit(call('large', { on_end: 'small', arguments: { text: 'x'.repeat(1_000) } }));
    await one('large');
    const { data } = receiver.about('large')[0]?.event ?? {};
    expect(data).toMatchObject({ result: null, url: '/v1/requests/large/directives/d', status: 'succeeded' });
    expect(data?.omitted_bytes).toBeGreaterThan(1_000);
  });
});

describe('a receiver', () => {
  test.each([
    ['redirect', { type: 'webhook_failed', details: { status: 302 }, retryable: false }],
    ['never', { type: 'webhook_failed', details: { status: 500 } }],
    ['headers', { type: 'network' }],
    ['silent', { type: 'timeout' }],
    [
      'inside',
      {
        type: 'webhook_failed',
        message: expect.stringContaining('`webhooks.endpoints.inside.private_addresses`') as string,
        details: { reason: 'private_address' },
      },
    ],
  ])('that is %s gets no more than its attempts', async (name, error) => {
    await client.submit(call(name, { on_end: name }));
    await failureOf(name).toMatchObject(error);
    const most = { redirect: 1, never: 2, headers: 1, silent: 1, inside: 0 }[name];
    expect(receiver.about(name)).toHaveLength(most ?? 0);
  });

  test('that never ends its answer has the event, and one that is busy gets it later', async () => {
    await client.submit(call('endless', { on_end: 'endless' }));
    await client.submit(call('busy', { on_end: 'busy' }));
    await eventually(async () => (await deliveryOf('endless'))?.status).toBe('succeeded');
    await eventually(() => receiver.about('busy').length).toBe(2);
  });

  test('that is down has a lane that is listed, and an idle one has none', async () => {
    await client.submit(call('down', { on_end: 'down' }));
    const busy = { name: 'webhook.down', delayed: 1 };
    await eventually(async () =>
      (await client.lanes()).lanes.find(({ name }) => name === busy.name),
    ).toMatchObject(busy);
    expect((await client.lanes()).lanes.map(({ name }) => name)).not.toContain('webhook.others');
  });

  test('that is gone gets nothing more, at an address of a caller', async () => {
    const on_end = { url: `${receiver.url}/gone` };
    await client.submit(call('gone-1', { on_end }));
    await failureOf('gone-1').toMatchObject({ details: { reason: 'gone' } });
    await client.submit(call('gone-2', { on_end }));
    await failureOf('gone-2').toMatchObject({ details: { reason: 'gone' } });
    expect(receiver.about('gone-2')).toEqual([]);
  });

  test('that is gone, and of the configuration, is said to be asked again', async () => {
    await client.submit(call('shut', { on_end: 'shut' }));
    const message = expect.stringContaining('the next ends are still sent to it') as string;
    await failureOf('shut').toMatchObject({ message, details: { reason: 'gone', status: 410 } });
  });

  test('that failed has a dead letter, and a redrive delivers under the same id', async () => {
    await eventually(async () => {
      const { dead_letters: letters } = await client.deadLetters({ lane: 'webhook.never' });
      return letters.length;
    }).toBe(1);
    const before = receiver.about('never').length;
    await client.redrive({ lane: 'webhook.never' });
    await eventually(() => receiver.about('never').length).toBe(before + 2);
    expect(new Set(receiver.about('never').map(({ id }) => id)).size).toBe(1);
  });
});

describe('what has ended says who is notified', () => {
  const noticesOf = async (requestId: string) => (await client.request(requestId))?.directives[0]?.notices;
  const brief = async (requestId: string) =>
    ((await noticesOf(requestId)) ?? []).map(({ endpoint, status, attempts, error }) => [
      endpoint,
      status,
      attempts,
      error,
    ]);

  test('each with its delivery, whichever way it is asked', async () => {
    const on_end = ['named', { url: `${receiver.url}/ok` }];
    await client.submit(call('seen', { on_end }));
    await eventually(() => brief('seen')).toEqual([
      ['named', 'delivered', 1, null],
      [expect.stringMatching(/^url:[0-9a-f]{24}$/) as string, 'delivered', 1, null],
    ]);
    const notices = await noticesOf('seen');
    for (const { request_id, id, url } of notices ?? []) {
      expect(await client.directive(request_id, id ?? '')).toMatchObject({ type: 'webhook_send' });
      expect(url).toBe(`/v1/requests/${request_id}`);
    }
    expect((await client.directive('seen', 'd'))?.notices).toEqual(notices);
    expect((await client.trace('seen')).directives[0]?.notices).toEqual(notices);
    expect(JSON.stringify(notices)).not.toContain(receiver.url);
  });

  test('of a run, of a rule, of one that waits for its receiver, of one that cannot be reached', async () => {
    await eventually(async () => (await client.request('run'))?.notices).toMatchObject([
      { endpoint: 'named', status: 'delivered' },
    ]);
    expect((await client.trace('run')).run?.notices).toMatchObject([{ endpoint: 'named' }]);
    await eventually(() => brief('down')).toEqual([['down', 'waiting', 1, null]]);
    const [down] = (await noticesOf('down')) ?? [];
    expect(down).toMatchObject({
      next_attempt_at: expect.any(String) as string,
      reason: expect.stringMatching(/^webhook_failed: .*status 500/) as string,
    });
    await eventually(() => brief('redirect')).toEqual([['redirect', 'dead', 1, 'webhook_failed']]);
    expect((await noticesOf('redirect'))?.[0]?.reason).toMatch(/^webhook_failed: /);
    const [seen = {}] = (await noticesOf('seen')) ?? [];
    expect([Object.keys(seen).includes('endpoint'), 'reason' in seen]).toEqual([true, false]);
    await client.submit(call('ruled-too', { tool_name: 'ruled.echo', delay_ms: 3_600_000 }));
    expect(await noticesOf('ruled-too')).toBeUndefined();
    await client.cancel('ruled-too', 'd');
    await eventually(() => brief('ruled-too')).toEqual([['ruled', 'delivered', 1, null]]);
  });

  test('of the newest delivery after a redrive, and of one that was cancelled', async () => {
    await eventually(async () => (await noticesOf('never'))?.[0]).toMatchObject({
      endpoint: 'never',
      id: 'never.redrive-1',
      status: 'dead',
    });
    const delivery = (await noticesOf('down'))?.[0]?.request_id ?? '';
    await client.cancel(delivery, 'down');
    expect(await brief('down')).toEqual([['down', 'failed', 1, 'cancelled']]);
  });

  test('in lists, and a failure that was redriven and delivered is none any more', async () => {
    await client.submit(call('twice', { on_end: 'once' }));
    await eventually(() => brief('twice')).toEqual([['once', 'dead', 1, 'webhook_failed']]);
    const letter = async () => (await client.deadLetters({ lane: 'webhook.once' })).dead_letters[0];
    await eventually(letter).toMatchObject({ name: 'once', about: { request_id: 'twice', id: 'd' } });
    await client.redrive({ lane: 'webhook.once' });
    await eventually(() => brief('twice')).toEqual([['once', 'delivered', 1, null]]);
    const text = 'to once, end of twice/d';
    await eventually(async () => (await client.requests({ q: 'twice' })).requests).toContainEqual(
      expect.objectContaining({ status: 'succeeded', text, redriven_as: 'once.redrive-1' }),
    );
    await eventually(async () => (await client.requests({ q: 'run' })).requests).toContainEqual(
      expect.objectContaining({ text: 'to named, end of the run run' }),
    );
  });

  test('nothing where nobody is', async () => {
    await client.submit(call('silently'), { waitMs: 20_000 });
    expect(await noticesOf('silently')).toBeUndefined();
  });

  test('at the command line: whom, how it stands, and what shows the delivery', async () => {
    const run = (...args: string[]) => spawnNode([PROGRAM, ...args], { env: { ADJUTANT_URL: service.url } });
    const delivery = (await noticesOf('seen'))?.[0]?.request_id ?? '';
    const shown = run('get', 'seen');
    expect(await shown.exited).toMatchObject({ code: 0 });
    expect(shown.lines.join('\n')).toMatch(
      new RegExp(`notified\n.*d  named +delivered +1 attempt +${delivery.replaceAll('.', '[.]')} named`),
    );
  });
});

describe('what a caller may not do', () => {
  const refusalOf = async (body: object) => post<{ errors: unknown }>(`${service.url}/v1/directives`, body);

  test.each([
    ['name an endpoint that there is not', { on_end: 'nobody' }, 'on_end'],
    ['name an endpoint of others', { on_end: ['named', 'others'] }, 'on_end[1]'],
    ['give an address with a user', { on_end: { url: 'https://a:b@c.example/' } }, 'on_end'],
    [
      'loosen what the operator fixed',
      { on_end: { url: 'https://c.example/', private_addresses: true } },
      'on_end.private_addresses',
    ],
    ['submit a delivery', { type: 'webhook_send' }, 'type'],
    ['take the id of a delivery', { request_id: 'webhook.abc' }, 'request_id'],
  ])('%s', async (_what, fields, path) => {
    const { status, body } = await refusalOf(call('refused', fields));
    expect([status, body]).toMatchObject([400, { errors: [{ path }] }]);
  });

  test('name one for a run that there is not', async () => {
    const start = client.runs.start({ agent: 'poor', query: 'x', on_end: 'nobody' });
    await expect(start).rejects.toMatchObject({ problem: { errors: [{ path: 'on_end' }] } });
  });

  test('learn a secret or an address of the operator', async () => {
    const seen = JSON.stringify([
      await deliveryOf('never'),
      await deliveryOf('inside'),
      await client.lanes(),
    ]);
    for (const hidden of [OLD, NEW, receiver.url, 'secret of the receiver'])
      expect(seen).not.toContain(hidden);
  });
});

describe('adjutant listen', () => {
  const start = (...more: string[]) => {
    const args = [PROGRAM, 'listen', '--forward', `${receiver.url}/ok`, '--secret', OLD, ...more];
    return spawnNode(args, { env: { ADJUTANT_URL: service.url } });
  };

  test('passes on each end from then on, and ends clean', async () => {
    await client.submit(call('before'));
    await eventually(async () => (await client.request('before'))?.status).toBe('closed');
    const listening = start();
    await listening.waitForLine(/^forwards ends to/);
    await client.submit([call('heard', { id: 'a' }), call('heard', { id: 'b', tool_name: 'peer.fail' })]);
    await client.runs.start({ agent: 'poor', query: 'x', request_id: 'heard-run' });
    await eventually(() => receiver.about('heard').length).toBe(2);
    // The run, and the call of its model.
    await eventually(() => receiver.about('heard-run').length).toBe(2);
    await listening.waitForLine(/ directive\.ended heard\/b failed → 204$/);
    await listening.waitForLine(/ run\.ended heard-run \(poor\) failed → 204$/);
    process.kill(listening.pid, 'SIGINT');
    expect(await listening.exited).toEqual({ code: 130, signal: null });
    expect(receiver.about('before')).toEqual([]);
    for (const { event } of receiver.about('heard')) webhookEventSchema.parse(event);
  });

  test('passes on the ends of one request, and ends with it', async () => {
    await client.submit(call('one-request'));
    const listening = start('--request', 'one-request', '--json');
    expect(await listening.exited).toEqual({ code: 0, signal: null });
    await one('one-request');
    const line = listening.lines.find((each) => each.startsWith('{')) ?? '{}';
    expect(JSON.parse(line)).toMatchObject({ status: 204, event: { data: { id: 'd' } } });
  });
});

test('the end of what was to begin much later is passed on, whoever ends it', async () => {
  const direct = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix });
  const connection = connectRedis(redis.url, 'commands');
  const lookAt = async () =>
    Number(await connection.zscore(`${service.prefix}:sweep`, 'direct-late/@notice/d'));
  // The sweeper has seen that it begins later.
  await eventually(lookAt).toBeGreaterThan(Date.now() + 1_800_000);
  await direct.cancel('direct-late', 'd');
  await one('direct-late');
  await Promise.all([direct.close(), closeRedis(connection)]);
});

test('a rule notifies of ends that ask for nothing, and of no delivery', async () => {
  const ofRule = { tool_name: 'ruled.echo', delay_ms: 3_600_000 };
  await client.submit(call('ruled', ofRule));
  await client.submit(call('unruled', { tool_name: 'ruled.echo' }));
  await client.cancel('ruled', 'd');
  await one('ruled');
  expect(receiver.about('unruled')).toEqual([]);
  expect(receiver.received.filter(({ event }) => event.data.request_id.startsWith('webhook.'))).toEqual([]);
});
