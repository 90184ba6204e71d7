/** Answers of `once` tools that are lost: the worker asks a `read` tool of the same server what happened (issue 38, point 5).
 *  It asked at the payments that the server has counted by itself. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_TENANT } from '../../../../src/contract/access/tenant.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { createDeadLetterIndex } from '../../../../src/store/index/dead-letter-index.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { toolExecSchema } from '../../../../src/contract/directive/work-directive.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import { openStore } from '../../../support/store.ts';
import { submitterOn } from '../../../support/submitter.ts';
import { untilHolds } from '../../../support/eventually.ts';
import { type PaymentArguments, startPaymentServer } from '../../../support/payment-server.ts';
import { get, post } from '../../../support/public-api.ts';
import { type RunningService, startService } from '../../../support/running-service.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

let payments: Awaited<ReturnType<typeof startPaymentServer>>;
let service: RunningService;

/** Requests in which no one may ask about payments. */
const RULED = "tool == 'bank.find_payment' && request.like('ruled-*')";

const configured = () => ({
  mcpServers: { bank: payments.entry },
  policy: { rules: [{ name: 'closed', when: RULED, decision: 'deny' }] },
});

beforeAll(async () => {
  payments = await startPaymentServer();
  service = await startService({
    redisUrl: redis.url,
    config: configured(),
  });
  await untilHolds(async () => {
    const { body } = await get<{ tools: unknown[] }>(`${service.url}/v1/tools`);
    expect(body.tools).toHaveLength(4);
  });
});

afterAll(async () => {
  await service.stop();
  await payments[Symbol.asyncDispose]();
});

type Signals = { type: string; data: Record<string, unknown> }[];

/** Pays an order in a request of its name. */
async function submit(
  { order, how = 'cut', find = 'honest' }: Partial<PaymentArguments> & { order: string },
  more: Record<string, unknown> = {},
): Promise<void> {
  const directive = {
    type: 'tool_exec',
    id: 'pay',
    request_id: order,
    tool_name: 'bank.pay',
    arguments: { order, how, find },
    ...more,
  };
  expect((await post(`${service.url}/v1/directives`, directive)).status).toBe(202);
}

async function signalsOf(order: string): Promise<Signals> {
  const { body } = await get<{ signals: Signals }>(`${service.url}/v1/requests/${order}/signals`);
  return body.signals;
}

/** All signals of its request, once it has ended. */
async function ended(order: string): Promise<Signals> {
  await untilHolds(async () => {
    expect((await signalsOf(order)).at(-1)?.type).toBe('ai.tool.result');
  });
  return signalsOf(order);
}

describe('a lost answer of a payment', () => {
  test.each([
    { order: 'cut', how: 'cut' },
    { order: 'silent', how: 'silent', more: { timeout_ms: 2_000 } },
    { order: 'late', how: 'cut', find: 'late', more: { tool_name: 'bank.pay_patiently' } },
  ] as const)('that was made ends as a success, with what was found: $order', async ({ more, ...paid }) => {
    await submit(paid, more);
    const signals = await ended(paid.order);
    expect(signals.map(({ type }) => type)).toEqual([
      'ai.tool.started',
      'directive.reconciled',
      'ai.tool.result',
    ]);
    const proof = { tool: 'bank.find_payment', arguments_digest: expect.any(String) as string };
    expect(signals[1]?.data).toMatchObject({ outcome: 'happened', ...proof });
    expect(signals[2]?.data).toMatchObject({
      result: { ok: true, payload: { id: `p-${paid.order}`, by: 'find' } },
      metadata: { reconciled: true, reconcile: proof, effect: 'once' },
    });
    expect(payments.paid(paid.order)).toBe(1);
  });

  test('that was not made is made again, as the retries of its directive allow', async () => {
    await submit({ order: 'again', how: 'dropped' }, { max_retries: 1, retry_backoff_ms: 1 });
    const signals = await ended('again');
    expect(signals.map(({ type }) => type)).toEqual([
      'ai.tool.started',
      'directive.reconciled',
      'directive.retry_scheduled',
      'ai.tool.result',
    ]);
    expect(signals.at(-1)?.data).toMatchObject({
      result: { ok: true, payload: expect.stringContaining('pay') as string },
    });
    expect(payments.paid('again')).toBe(1);
  });

  test('that was not made, and has no retries, ends as a failure that says so', async () => {
    await submit({ order: 'not', how: 'dropped' });
    const end = (await ended('not')).at(-1);
    expect(end?.data).toMatchObject({
      result: {
        ok: false,
        error: {
          type: 'network',
          message: expect.stringMatching(/find_payment was asked \d+× after network/) as string,
          details: { outcome: 'not_happened' },
        },
      },
    });
    expect(payments.paid('not')).toBe(0);
  });

  test.each([
    ['never', 'it failed as timeout'],
    ['huge', 'its answer is too large for expressions'],
    ['shape', 'its answer cannot be read: No such key: key'],
    ['text', 'its answer cannot be read'],
    ['other', 'its answer says neither'],
  ] as const)('stays unknown where the answer is of no use, with the reason: %s', async (find, reason) => {
    const limit = find === 'never' ? { timeout_ms: 500 } : {};
    await submit({ order: `odd-${find}`, find }, { ...limit, max_retries: 3 });
    const end = (await ended(`odd-${find}`)).at(-1);
    expect(end?.data).toMatchObject({
      result: {
        error: {
          type: 'outcome_unknown',
          retryable: false,
          details: {
            outcome: 'unknown',
            reconcile: { asked: 4, reason: expect.stringContaining(reason) as string },
          },
        },
      },
    });
    const text = JSON.stringify(end);
    expect([text.length < 4_000, text.includes('sk-live')]).toEqual([true, false]);
    expect(payments.paid(`odd-${find}`)).toBe(1);
  });

  test('stays unknown where the tool that is to be asked may not be repeated: it is not called', async () => {
    await submit({ order: 'blind' }, { tool_name: 'bank.pay_blindly', deadline_ms: 5_000 });
    const end = (await ended('blind')).at(-1);
    expect(JSON.stringify(end?.data)).toContain('its repeat policy is not `read`');
    expect([payments.paid('blind'), payments.paid('none')]).toEqual([1, 0]);
  });

  test('by a worker that was stopped during the call is found out by the next one', async () => {
    const { prefix, stop } = service;
    await submit({ order: 'stopped', how: 'silent' });
    await untilHolds(() => expect(payments.paid('stopped')).toBe(1));
    await stop();
    service = await startService({ redisUrl: redis.url, prefix, config: configured() });
    const signals = await ended('stopped');
    expect(signals.at(-1)?.data).toMatchObject({
      result: { ok: true, payload: { by: 'find' } },
      metadata: { reconcile: { cause: 'stopped' } },
    });
    expect(payments.paid('stopped')).toBe(1);
  });

  test('is cancelled with an unknown outcome while it is being found out', async () => {
    await submit({ order: 'unwanted', find: 'text' }, { timeout_ms: 5_000 });
    await untilHolds(() => expect(payments.paid('unwanted')).toBe(1));
    await untilHolds(async () => {
      const { body } = await get<{ directives: { status: string }[] }>(`${service.url}/v1/requests/unwanted`);
      expect(body.directives[0]?.status).toBe('waiting');
    });
    await post(`${service.url}/v1/requests/unwanted/directives/pay/cancel`, {});
    const end = (await ended('unwanted')).at(-1);
    expect(end?.data).toMatchObject({
      result: { error: { type: 'cancelled', details: { outcome: 'unknown' } } },
    });
  });
});

describe('a payment whose outcome stayed unknown', () => {
  interface Press {
    outcome: string;
    reason?: string | null;
    directive: { id: string };
    result?: unknown;
    code?: string;
  }
  const press = async (order: string) =>
    post<Press>(`${service.url}/v1/requests/${order}/directives/pay/reconcile`, {});
  /** Under any id, which neither submitters nor strategies can choose. */
  const submitInside = async (directive: object): Promise<void> => {
    await using opened = await openStore(redis.url, { prefix: service.prefix });
    await submitterOn(opened.store).submit([toolExecSchema.parse({ type: 'tool_exec', ...directive })]);
  };
  const deadLetters = async (order: string): Promise<string[]> => {
    const { body } = await get<{ dead_letters: { request_id: string; id: string }[] }>(
      `${service.url}/v1/dead-letters`,
    );
    return body.dead_letters.filter(({ request_id }) => request_id === order).map(({ id }) => id);
  };

  test('is found out by a person, beside its terminal signal, and is no dead letter then', async () => {
    await submit({ order: 'pressed', find: 'closed' });
    await ended('pressed');
    await untilHolds(async () => expect(await deadLetters('pressed')).toEqual(['pay']));
    const closed = await press('pressed');
    expect(closed.body).toMatchObject({ outcome: 'unknown', directive: { id: 'pay.reconcile-1' } });
    // The inquiry that failed is none beside the call.
    expect(await deadLetters('pressed')).toEqual(['pay']);

    payments.books(true);
    const { body } = await press('pressed');
    expect(body).toMatchObject({
      outcome: 'happened',
      directive: { id: 'pay.reconcile-2' },
      result: { id: 'p-pressed', by: 'find' },
    });
    expect(await deadLetters('pressed')).toEqual([]);
    // A repeat finds what was found; the call itself has one end, and was made once.
    expect((await press('pressed')).body).toEqual(body);
    const ends = (await signalsOf('pressed')).filter(
      ({ type, data }) => type === 'ai.tool.result' && data['call_id'] === 'pay',
    );
    expect(ends.map(({ data }) => (data['result'] as { ok: boolean }).ok)).toEqual([false]);
    expect(payments.paid('pressed')).toBe(1);
  });

  // The worker asks as the operator has configured it, about a call that the rules have let pass; a person asks with a directive.
  test('is asked about by a person under the rules of the policy, and by its worker without them', async () => {
    await submit({ order: 'ruled-1' });
    expect((await ended('ruled-1')).at(-1)?.data).toMatchObject({ metadata: { reconciled: true } });
    payments.books(false);
    await submit({ order: 'ruled-2', find: 'closed' });
    await ended('ruled-2');
    payments.books(true);
    const { body } = await press('ruled-2');
    expect(body).toMatchObject({ outcome: 'unknown', reason: 'it failed as policy_denied' });
  });

  test('that was not made can be redriven; a call with a known outcome is not asked about', async () => {
    payments.books(false);
    await submit({ order: 'unmade', find: 'closed', how: 'dropped' });
    await ended('unmade');
    payments.books(true);
    // "Did not happen" is not believed before `settle_ms` has passed since the end.
    await untilHolds(async () => expect((await press('unmade')).body.outcome).toBe('not_happened'));
    await untilHolds(async () => expect(await deadLetters('unmade')).toContain('pay'));
    const directives = [{ request_id: 'unmade', id: 'pay' }];
    const { body } = await post<{ redriven: { to: { id: string } }[] }>(
      `${service.url}/v1/dead-letters/redrive`,
      { directives },
    );
    expect(body.redriven.map(({ to }) => to.id)).toEqual(['pay.redrive-1']);
    const known = `${service.url}/v1/requests/unmade/directives/pay.reconcile-1/reconcile`;
    expect((await post<Press>(known, {})).body.code).toBe('outcome_known');
  });

  test('is not asked for where the tool that would be asked may not be repeated', async () => {
    const { body } = await post<Press>(`${service.url}/v1/requests/blind/directives/pay/reconcile`, {});
    expect(body.code).toBe('bad_request');
    expect(payments.paid('none')).toBe(0);
  });

  /** Where the API ends between the answer and the settlement, or answers `pending`, the list still has the call. */
  test('and was found out to have happened is not redriven, although it is still a dead letter', async () => {
    payments.books(false);
    await submit({ order: 'listed', find: 'closed' });
    await ended('listed');
    await untilHolds(async () => expect(await deadLetters('listed')).toEqual(['pay']));
    payments.books(true);
    const connection = connectRedis(redis.url, 'commands');
    const dead = createDeadLetterIndex(connection, keySpace(service.prefix));
    const { entries } = await dead.page(DEFAULT_TENANT, 'oldest', null, 1_000);
    expect((await press('listed')).body.outcome).toBe('happened');
    expect(await deadLetters('listed')).toEqual([]);
    for (const entry of entries.filter(({ requestId }) => requestId === 'listed')) await dead.add(entry);
    await closeRedis(connection);
    expect(await deadLetters('listed')).toEqual(['pay']);

    const redrive = `${service.url}/v1/dead-letters/redrive`;
    const named = { directives: [{ request_id: 'listed', id: 'pay' }] };
    // A client without the API knows no server, and cannot read what the inquiry has found.
    const direct = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix });
    const blind = await direct.redrive(named);
    expect(blind).toMatchObject({ redriven: [], refused: [{ code: 'outcome_unknown' }] });
    expect(blind.refused[0]?.detail).toContain('only the API');
    await expect(direct.reconcile('listed', 'pay')).rejects.toThrow('Only the API can ask');
    await direct.close();
    const dry = await post<{ found: unknown[]; refused: unknown[] }>(redrive, { ...named, dry_run: true });
    expect(dry.body).toMatchObject({ found: [], refused: [{ code: 'outcome_known' }] });
    const one = await post<{ refused: { code: string; detail: string }[]; left: number }>(redrive, named);
    expect(one.body).toMatchObject({ redriven: [], left: 1, refused: [{ code: 'outcome_known' }] });
    expect(one.body.refused[0]?.detail).toContain('was found to have happened');
    const all = await post<{ redriven: { from: { request_id: string } }[] }>(redrive, {
      error_type: 'outcome_unknown',
    });
    expect(all.body.redriven.map(({ from }) => from.request_id)).not.toContain('listed');
    expect(await deadLetters('listed')).toEqual([]);
    expect(payments.paid('listed')).toBe(1);
  });

  test('is not redriven while it is being asked about, and a dry run says so', async () => {
    await submit({ order: 'asked', find: 'closed' });
    payments.books(false);
    await ended('asked');
    await untilHolds(async () => expect(await deadLetters('asked')).toEqual(['pay']));
    payments.silence(true);
    const pressed = press('asked');
    const inquiry = `${service.url}/v1/requests/asked/directives/pay.reconcile-1`;
    await untilHolds(async () => expect((await get(inquiry)).status).toBe(200));
    const redrive = `${service.url}/v1/dead-letters/redrive`;
    const named = { directives: [{ request_id: 'asked', id: 'pay' }] };
    const dry = await post<{ found: unknown[] }>(redrive, { ...named, dry_run: true });
    expect(dry.body).toMatchObject({ found: [], refused: [{ code: 'outcome_unknown' }] });
    const { body } = await post<{ refused: { detail: string }[] }>(redrive, named);
    expect(body).toMatchObject({ redriven: [], refused: [{ code: 'outcome_unknown' }] });
    expect(body.refused[0]?.detail).toContain('pay.reconcile-1');
    expect(await deadLetters('asked')).toEqual(['pay']);
    expect(payments.paid('asked')).toBe(1);
    payments.silence(false);
    await post(`${inquiry}/cancel`, {});
    await pressed;
  });

  test('has ids for its inquiries that no submitter can take', async () => {
    const taken = { type: 'tool_exec', id: 'pay.reconcile-7', request_id: 'listed', tool_name: 'bank.pay' };
    const { status, body } = await post<{ code: string; errors: { path: string }[] }>(
      `${service.url}/v1/directives`,
      { ...taken, arguments: {} },
    );
    expect([status, body.code, body.errors[0]?.path]).toEqual([400, 'invalid_body', 'id']);
  });

  /** A model names the calls of its run: one that knows the key of a call could else say what had happened to it. */
  test('is not settled by another directive that asks the same', async () => {
    payments.books(false);
    await submit({ order: 'copied', find: 'closed' });
    await ended('copied');
    const asked = await press('copied');
    expect(asked.body).toMatchObject({ outcome: 'unknown', directive: { id: 'pay.reconcile-1' } });
    const { body } = await get<{ directive: { tool_name: string; arguments: object } }>(
      `${service.url}/v1/requests/copied/directives/pay.reconcile-1`,
    );
    payments.books(true);
    const { tool_name, arguments: args } = body.directive;
    await submitInside({ request_id: 'copied', id: 'pay.reconcile-2', tool_name, arguments: args });
    await untilHolds(async () =>
      expect((await signalsOf('copied')).at(-1)?.data['call_id']).toBe('pay.reconcile-2'),
    );
    expect(await deadLetters('copied')).toEqual(['pay']);
    expect((await press('copied')).body).toMatchObject({
      outcome: 'happened',
      directive: { id: 'pay.reconcile-3' },
    });
  });

  test('is not settled by an answer that was asked for before the loss', async () => {
    const forged = { request_id: 'forged', id: 'pay.reconcile-1', tool_name: 'bank.find_payment' };
    await submitInside({ ...forged, arguments: { key: 'any', how: 'honest' } });
    await submit({ order: 'forged', find: 'text' });
    await untilHolds(async () => expect(await deadLetters('forged')).toContain('pay'));
    expect((await press('forged')).body).toMatchObject({
      outcome: 'unknown',
      directive: { id: 'pay.reconcile-2' },
    });
  });
});
