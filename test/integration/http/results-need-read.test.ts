/** Keys without the scope `read`, on every route that they may use: no answer holds what another key submitted, or its result.
 *  It must not name the routes: they come from the description. Public rule: docs/access.md, "What a key may do". */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import { type Scope, SCOPES } from '../../../src/contract/access/access.ts';
import { untilHolds } from '../../support/eventually.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const ADMIN = randomBytes(32).toString('hex');

const CONTENT = 'content-of-another-key';
const RESULT = 'x'.repeat(64);
const ENDED = {
  type: 'tool_exec',
  request_id: 'ended',
  id: 'one',
  tool_name: 'peer.large',
  arguments: { bytes: RESULT.length },
} as const;
const SCHEDULE = {
  id: 'daily',
  every_ms: 86_400_000,
  directives: [{ type: 'tool_exec' as const, tool_name: 'peer.echo', arguments: { message: CONTENT } }],
};
/** The input that makes an operation answer with as much as it can. */
const BODIES: Readonly<Record<string, object>> = {
  submit: ENDED,
  cancelAll: { all: true, dry_run: true },
  redriveAll: { all: true, dry_run: true },
  redrive: { all: true, dry_run: true },
};
const DRY_RUNS = ['cancelAll', 'redrive', 'redriveAll'];

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly scope: string | null;
}

interface Description {
  readonly paths: Record<
    string,
    Record<string, { operationId: string; security: Record<string, string[]>[] }>
  >;
}

const scene = shared(async () => {
  const environment = { ADJUTANT_ADMIN_KEY: ADMIN };
  const service = await startService({
    redisUrl: redis.url,
    roles: { api: true, worker: true },
    environment,
  });
  const { url } = service;
  const admin = createAccessClient({ baseUrl: url, apiKey: ADMIN });
  const keyOf = async (...scopes: Scope[]): Promise<string> =>
    (await admin.create({ name: scopes.join('-'), scopes })).key;
  const owner = createHttpClient({ baseUrl: url, apiKey: await keyOf(...SCOPES) });
  const listed = async () => expect(JSON.stringify(await owner.tools())).toContain('peer.large');
  await untilHolds(listed);
  await owner.execute(ENDED);
  await owner.execute({
    ...ENDED,
    request_id: 'failed',
    tool_name: 'peer.fail',
    arguments: { text: CONTENT },
  });
  const one = { concurrency: { key: 'one', limit: 1 }, tool_name: 'peer.wait', arguments: { note: CONTENT } };
  for (const id of ['one', 'held']) await owner.submit({ ...ENDED, ...one, request_id: 'waiting', id });
  await owner.schedules.create(SCHEDULE);
  return { url, keyOf, [Symbol.asyncDispose]: service.stop };
});

async function operationsOf(scope: string): Promise<Operation[]> {
  const { paths } = (await (await fetch(`${scene.url}/openapi.json`)).json()) as Description;
  const names: Record<string, string> = {
    request_id: ENDED.request_id,
    directive_id: ENDED.id,
    schedule_id: SCHEDULE.id,
  };
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, security }]) => ({
      id: operationId,
      method: method.toUpperCase(),
      path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => names[name] ?? 'x'),
      scope: security[0]?.['key']?.[0] ?? null,
    })),
  );
  const isLast = ({ method }: Operation): number => Number(method === 'DELETE');
  return all.filter((each) => each.scope === scope).sort((a, b) => isLast(a) - isLast(b));
}

async function ask(key: string, { id, method, path }: Operation, body: object = BODIES[id] ?? {}) {
  const query = id === 'submit' ? '?wait_ms=20000' : '';
  const hasBody = method !== 'DELETE' && method !== 'GET';
  const response = await fetch(`${scene.url}${path}${query}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
    },
    ...(hasBody ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, text: await response.text() };
}

describe('a key without the scope read', () => {
  test.each(['submit', 'cancel', 'decide', 'redrive'] as const)(
    'and with %s is answered with states, never with content or results of another key',
    async (scope) => {
      const key = await scene.keyOf(scope);
      const operations = await operationsOf(scope);
      expect(operations.length).toBeGreaterThan(0);
      for (const operation of operations) {
        const { status, text } = await ask(key, operation);
        const name = `${operation.id} ${status}`;
        expect(text, name).not.toContain(CONTENT);
        expect(text, name).not.toContain(RESULT);
        if (DRY_RUNS.includes(operation.id))
          expect([status, text], name).toEqual([403, expect.stringContaining('scope read')]);
      }
    },
  );

  test('reads the result of a repeat of its own submission, not of another one', async () => {
    const [submit] = (await operationsOf('submit')).filter(({ id }) => id === 'submit');
    const own = { ...ENDED, request_id: 'of-the-submitter' };
    const key = await scene.keyOf('submit');
    for (const round of ['first', 'repeat'])
      expect(await ask(key, submit as Operation, own), round).toMatchObject({
        status: 200,
        text: expect.stringContaining(RESULT) as string,
      });
    const repeat = await ask(await scene.keyOf('submit'), submit as Operation, own);
    expect(repeat).toMatchObject({ status: 202, text: expect.stringContaining('"existing"') as string });
    expect(repeat.text).not.toContain(RESULT);
    const reader = await scene.keyOf('submit', 'read');
    expect((await ask(reader, submit as Operation, own)).text).toContain(RESULT);
  });

  test('changes the priority of its own work; that of another key needs cancel, as its end does', async () => {
    const prioritize = async (key: string, request: string) => {
      const path = `/v1/requests/${request}/directives/held/priority`;
      const operation = { id: 'prioritize', method: 'POST', path, scope: 'submit' };
      return (await ask(key, operation, { priority: 9 })).status;
    };
    const key = await scene.keyOf('submit');
    expect(await prioritize(key, 'waiting')).toBe(403);
    expect(await prioritize(await scene.keyOf('submit', 'cancel'), 'waiting')).toBe(200);
    const client = createHttpClient({ baseUrl: scene.url, apiKey: key });
    const concurrency = { key: 'one', limit: 1 };
    await client.submit({ ...ENDED, request_id: 'own', id: 'held', tool_name: 'peer.wait', concurrency });
    expect(await prioritize(key, 'own')).toBe(200);
  });
});
