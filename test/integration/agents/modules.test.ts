/** Agents, strategies and custom directive types from users' own modules, in a real service.
 *  It must not give a module anything that the configuration does not. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { parseConfig } from '../../../src/config/config.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { DirectiveRefused } from '../../../src/contract/problem.ts';
import { requestViewSchema, directiveViewSchema } from '../../../src/contract/request/request-view.ts';
import { signalPageSchema } from '../../../src/contract/signal/signal-page.ts';
import { isTerminalSignal, type Signal } from '../../../src/contract/signal/signal.ts';
import { loadModules } from '../../../src/agents/modules/modules.ts';
import { useRedis } from '../../support/shared.ts';
import { type RunningService, startService } from '../../support/running-service.ts';

const SHOP = fileURLToPath(new URL('../../support/modules/shop.ts', import.meta.url));

const redis = useRedis();
let service: RunningService;
let client: DirectiveClient;

beforeAll(async () => {
  const config = { agents: { keeper: { strategy: 'shopkeeper' } }, directives: [SHOP], strategies: [SHOP] };
  service = await startService({ redisUrl: redis.url, config });
  client = createHttpClient({ baseUrl: service.url });
});
afterAll(async () => {
  await client?.close();
  await service?.stop();
});

async function log(requestId: string): Promise<Signal[]> {
  const read: Signal[] = [];
  for await (const signal of client.signals(requestId)) read.push(signal);
  return read;
}

function types(signals: readonly Signal[]): string[] {
  return signals.map(({ type }) => type);
}

describe('a custom directive type', () => {
  test('is submitted, executed on its own lane, and answered like any other', async () => {
    const ended = await client.execute({ type: 'shop.order', item: 'tea', pieces: 2 } as never);
    expect(ended).toMatchObject({
      type: 'directive.result',
      data: { directive_type: 'shop.order', result: { ok: true, payload: { ordered: 'tea', pieces: 2 } } },
    });
    expect(isTerminalSignal(ended)).toBe(true);
    const view = await client.directive(ended.subject, ended.causationid);
    expect(view).toMatchObject({
      lane: 'custom.shop.order',
      status: 'succeeded',
      directive: { item: 'tea' },
    });
    expect(directiveViewSchema.safeParse(view).success).toBe(true);
  });

  test('fills in its defaults, and is refused with the path of each fault', async () => {
    const ended = await client.execute({ type: 'shop.order', item: 'tea' } as never);
    expect(ended).toMatchObject({ data: { result: { payload: { pieces: 1 } } } });
    const wrong = {
      directives: [
        { type: 'shop.order', item: '' },
        { type: 'shop.order', item: 'tea', size: 1 },
      ],
    };
    const refused = await client.submit(wrong as never).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(DirectiveRefused);
    expect((refused as DirectiveRefused).problem.errors?.map(({ path }) => path)).toEqual([
      'directives[0].item',
      'directives[1].size',
    ]);
  });

  test.each(['remember', 'unheard.of'])('%s cannot be submitted by itself', async (type) => {
    const refused = await client.submit({ type, what: 'x' } as never).catch((error: unknown) => error);
    expect((refused as DirectiveRefused).problem).toMatchObject({ code: 'invalid_body', status: 400 });
  });
});

describe('a run with a user’s strategy', () => {
  test('changes its state, has its directives executed, and writes its own signals', async () => {
    const { request_id: id } = await client.runs.start({ agent: 'keeper', query: 'tea' });
    const signals = await log(id);
    expect(types(signals)).toEqual([
      'ai.request.started',
      'directive.ignored',
      'directive.result',
      'shop.sold',
      'ai.request.completed',
    ]);
    const view = await client.request(id);
    expect(view?.run).toMatchObject({
      strategy: 'shopkeeper',
      status: 'completed',
      result: { answer: { ordered: 'tea', pieces: 1 }, remembered: 'tea' },
    });
    expect(requestViewSchema.safeParse(view).error).toBeUndefined();
    const page = await client.page(id);
    expect(signalPageSchema.safeParse(page).error).toBeUndefined();
    expect(types(page.signals)).toEqual(types(signals));
  });

  test('that one of its directives stops ends at once', async () => {
    const { request_id: id } = await client.runs.start({ agent: 'keeper', query: 'halt' });
    await log(id);
    const stopped = { status: 'failed', termination_reason: 'stopped' };
    expect((await client.request(id))?.run).toMatchObject(stopped);
  });

  test('is listed with its agent', async () => {
    expect(await client.agents()).toMatchObject({ agents: [{ name: 'keeper', strategy: 'shopkeeper' }] });
  });
});

describe('an unusable module', () => {
  const OWN = ['./own.mjs'];
  // The module, where the configuration names it, and what is reported.
  const cases: [string, string, Record<string, unknown>, RegExp][] = [
    ['does not exist', '', { strategies: ['./none.js'] }, /none\.js: strategies\[0\] cannot be loaded/],
    ['has a fault', 'throw new Error("broken")', { directives: OWN }, /own\.mjs: directives\[0\] .*: broken/],
    ['exports nothing', 'export const n = 1;', { strategies: OWN }, /strategies\[0\] exports nothing of/],
    [
      'is no strategy',
      'export const s = { name: "s", init() {} };',
      { strategies: OWN },
      /without a function/,
    ],
    ['is no kind', 'export const k = { type: "k", mode: "later" };', { directives: OWN }, /mode is neither/],
    ['has no schema', 'export const k = { type: "k", mode: "queued" };', { directives: OWN }, /a zod schema/],
    ['is no agent', 'export const a = { name: "a", limits: 0 };', { agents: OWN }, /agents\[0\]\.limits/],
    ['has another agent', 'export const a = { name: "a" };', { agents: { b: OWN[0] } }, /no agent named "b"/],
  ];

  test.each(cases)('because it %s is named, and why', async (_what, source, raw, message) => {
    const directory = await mkdtemp(join(tmpdir(), 'adjutant-modules-'));
    try {
      await writeFile(join(directory, 'own.mjs'), source);
      const config = parseConfig(raw, { source: 'adjutant.json', directory, environment: {} });
      await expect(loadModules(config)).rejects.toThrow(message);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });
});
