/** Workers that die at each of their writes while they pay, and while they find out whether they have paid (issue 38, point 5): each
 *  order is paid once, and its directive says so. `RECONCILE_KILLS`: how many deaths. The server counts its payments by itself. */
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import type { Doom } from '../../../support/doomed-workers.ts';
import { untilHolds } from '../../../support/eventually.ts';
import { type PaymentArguments, startPaymentServer } from '../../../support/payment-server.ts';
import { type Child, spawnNode } from '../../../support/process.ts';
import { programOf } from '../../../support/program.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

const DOOMED = programOf(fileURLToPath(new URL('../../../support/doomed-workers.ts', import.meta.url)));
const HOW: readonly PaymentArguments['how'][] = ['cut', 'dropped', 'paid'];
const MOMENTS: readonly Doom['moment'][] = ['before', 'after'];
/** About as many as a payment, its question and its end send; a later death has no effect. */
const COMMANDS = 9;
const AT_ONCE = 12;
const KILLS = Number(process.env['RECONCILE_KILLS'] ?? 6);

/** All points of all ways, those of one number together. */
const POINTS = Array.from({ length: COMMANDS }, (_, at) =>
  MOMENTS.flatMap((moment) => HOW.map((how) => ({ how, at: at + 1, moment }))),
).flat();

async function openOrder(redisUrl: string, how: PaymentArguments['how']) {
  const id = randomUUID();
  const [prefix, request] = [`doomed-${id}`, `order-${id}`];
  const client = await createDirectClient({ redisUrl, prefix, knownServers: ['bank'] });
  await client.submit({
    type: 'tool_exec',
    id: 'pay',
    request_id: request,
    tool_name: 'bank.pay',
    arguments: { order: prefix, how, find: 'honest' },
    max_retries: 3,
    retry_backoff_ms: 1,
  });
  const signals = async () => (await client.page(request, { limit: 100 })).signals;
  const ends = async () => (await signals()).filter(({ type }) => type === 'ai.tool.result');
  const types = async () => (await signals()).map(({ type }) => type);
  return { prefix, request, client, ends, types, how };
}

type Order = Awaited<ReturnType<typeof openOrder>>;

/**
 * Each worker has stopped, or its directive has ended. Returns the prefixes of those that stopped. The wait begins anew with each
 * stop, end and signal: on a busy machine the start of the workers alone takes as long as one wait.
 */
async function untilOver(child: Child, orders: readonly Order[], kills: number): Promise<string[]> {
  const died = (): string[] =>
    child.lines.filter((line) => line.startsWith('died ')).map((line) => line.slice(5));
  let seen = '';
  for (;;) {
    const before = seen;
    const isOver = await untilHolds(async () => {
      const living = orders.filter(({ prefix }) => !died().includes(prefix));
      const types = await Promise.all(living.map(async ({ types: typesOf }) => typesOf()));
      const open = living.filter((_, at) => types[at]?.includes('ai.tool.result') !== true);
      seen = JSON.stringify([died(), types, child.lines.includes('ready')]);
      if (open.length === 0) return true;
      const stuck = open.map(({ how, prefix }) => [
        how,
        prefix,
        types[living.findIndex((each) => each.prefix === prefix)],
      ]);
      expect(seen, `after ${kills} deaths nothing happens; open: ${JSON.stringify(stuck)}`).not.toBe(before);
      return false;
    });
    if (isOver) return died();
  }
}

test(
  'workers that die at the writes of a payment and of its question pay each order once, and say so',
  async () => {
    await using payments = await startPaymentServer();
    const config = { mcpServers: { bank: payments.entry }, worker: { drain_ms: 0, lease_ms: 1_000 } };
    let kills = 0;

    async function live(
      orders: readonly Order[],
      dooms: readonly Pick<Doom, 'at' | 'moment'>[],
    ): Promise<Order[]> {
      const given = orders.map(({ prefix, request }, at) => ({
        prefix,
        request,
        at: 0,
        moment: 'before',
        ...dooms[at],
      }));
      const child = spawnNode([DOOMED, redis.url, JSON.stringify(config), JSON.stringify(given)]);
      try {
        const died = await untilOver(child, orders, kills);
        kills += died.length;
        return orders.filter(({ prefix }) => died.includes(prefix));
      } finally {
        await child.kill9();
      }
    }

    for (let from = 0; kills < KILLS; from += AT_ONCE) {
      const points = Array.from({ length: Math.min(AT_ONCE, KILLS - kills) }, (_, at) => {
        const point = POINTS[((from + at) * 7) % POINTS.length];
        if (point === undefined) throw new Error('there is no such point');
        return point;
      });
      const orders = await Promise.all(points.map(async ({ how }) => openOrder(redis.url, how)));
      const once = await live(orders, points);
      const isLong = KILLS > AT_ONCE;
      const second = once.map((_, at) => ({
        at: 1 + ((from + at) % 6),
        moment: MOMENTS[at % 2] ?? 'before',
      }));
      await live(isLong ? await live(once, second) : once, []);
      const found = await Promise.all(
        orders.map(async ({ prefix, ends, client }, at) => {
          const results = (await ends()).map(({ data }) => Object(data).result as { ok: boolean });
          await client.close();
          const said = results.map((result) => (result.ok ? 'ok' : JSON.stringify(result)));
          return { ...points[at], said, paid: payments.paid(prefix) };
        }),
      );
      expect(found.filter(({ said, paid }) => paid !== 1 || String(said) !== 'ok')).toEqual([]);
    }
  },
  60_000 + KILLS * 5_000,
);
