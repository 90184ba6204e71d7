/** Who decided, where keys are asked for: the name of the key, unless the caller says a name.
 *  It must never touch Redis. */
import { expect, test } from 'vitest';
import { guardClient, onBehalfOf } from '../../../../src/http/access/caller.ts';
import type { Principal } from '../../../../src/http/access/principal.ts';
import { UNLIMITED } from '../../../../src/http/access/principal.ts';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';

const quiet = {
  audit: {
    note: async () => {},
    around: async <T>(...[, , , work]: [unknown, unknown, unknown, () => Promise<T>]) => work(),
  },
  spend: async () => {},
  maxDirectives: 10,
  submitterOf: async () => null,
  starterOf: null,
  others: { reading: async () => null },
};

function recording() {
  const bodies: unknown[] = [];
  const note = async (_request: string, _id: string, body: unknown): Promise<unknown> => bodies.push(body);
  const client = { answer: note, runs: { decide: note } } as unknown as DirectiveClient;
  return { bodies, client: guardClient(client, quiet) };
}

function caller(name: string): Principal {
  return { id: 'k1', name, tenant: 'default', scopes: new Set(['decide', 'redrive']), ...UNLIMITED };
}

async function as(
  name: string,
  work: () => Promise<unknown>,
  limits: Partial<Principal> = {},
): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    onBehalfOf({ ...caller(name), ...limits }, () => void work().then(() => resolve(), reject));
  });
}

test.each([{ perDay: 1 }, { tokensPerDay: 1 }, { moneyPerDay: 0 }, { tools: ['a.*'] }])(
  'a key with %o redrives nothing: it would spend what another one may',
  async (limits) => {
    const redriven: unknown[] = [];
    const redrive = async (which: unknown): Promise<unknown> => {
      redriven.push(which);
      return { redriven: [] };
    };
    const client = guardClient({ redrive, runs: {} } as unknown as DirectiveClient, quiet);
    await expect(as('ops', () => client.redrive({}), limits)).rejects.toMatchObject({
      problem: { code: 'forbidden' },
    });
    expect(redriven).toEqual([]);
    await as('ops', () => client.redrive({}));
    expect(redriven).toEqual([{}]);
  },
);

test.each([
  [{ singleton: { key: 'k', when_open: 'replace' } }, {}],
  [{ debounce: { key: 'k', quiet_ms: 1 } }, { tools: ['a.*'] }],
])('%j by %o needs the scope cancel: it ends or changes what others submitted', async (once, limits) => {
  const submitted: unknown[] = [];
  const submit = async (given: unknown): Promise<unknown> => {
    submitted.push(given);
    return { request_id: 'r', directives: [] };
  };
  const client = guardClient({ submit, runs: {} } as unknown as DirectiveClient, quiet);
  const call = { type: 'tool_exec', tool_name: 'a.x', ...once } as never;
  const scopes = (...names: string[]) => ({ ...limits, scopes: new Set(names) });
  await expect(as('low', () => client.submit(call), scopes('submit'))).rejects.toMatchObject({
    problem: { code: 'forbidden', scope: 'cancel' },
  });
  expect(submitted).toEqual([]);
  await as('low', () => client.submit(call), scopes('submit', 'cancel'));
  const custom = { type: 'b', ...once } as never;
  await as('low', () => client.submit(custom), { scopes: new Set(['submit']) });
  expect(submitted).toEqual([call, custom]);
  const run = { agent: 'a', query: 'q', ...once } as never;
  const runs = { start: async () => ({ request_id: 'r', agent: 'a' }) };
  const starter = guardClient({ submit, runs } as unknown as DirectiveClient, quiet);
  const lowly = { agents: ['*'], ...limits };
  await expect(
    as('low', () => starter.runs.start(run), { ...lowly, scopes: new Set(['submit']) }),
  ).rejects.toMatchObject({ problem: { code: 'forbidden', scope: 'cancel' } });
  await as('low', () => starter.runs.start(run), { ...lowly, scopes: new Set(['submit', 'cancel']) });
});

test.each([
  [{ dedupe: { key: 'k', window_ms: 1 } }, true],
  [{ debounce: { key: 'k', quiet_ms: 1 } }, true],
  [{ singleton: { key: 'k', when_open: 'join' } }, true],
  [{ singleton: { key: 'k' } }, false],
  [{}, false],
])('whether a wait with %j needs the scope read: %s', async (once, needsRead) => {
  const submit = async (): Promise<unknown> => ({ request_id: 'r', directives: [] });
  const guarded = { submit, execute: submit, runs: {} } as unknown as DirectiveClient;
  const client = guardClient(guarded, quiet);
  const call = { type: 'tool_exec', tool_name: 'a.x', ...once } as never;
  const submitOnly = { scopes: new Set(['submit']) };
  await as('low', () => client.submit(call), submitOnly);
  const refusal = { problem: { code: 'forbidden', scope: 'read' } };
  const wait = () => client.submit(call, { waitMs: 1 });
  const waited = as('low', wait, submitOnly);
  await (needsRead ? expect(waited).rejects.toMatchObject(refusal) : waited);
  // Its answer is the end, for every submitter of the directive.
  await expect(as('low', () => client.execute(call), submitOnly)).rejects.toMatchObject(refusal);
  for (const each of [wait, () => client.execute(call)])
    await as('low', each, { scopes: new Set(['submit', 'read']) });
});

test.each([
  ['without the scope read', { scopes: new Set(['submit']) }],
  ['without the scope submit', { scopes: new Set(['read', 'cancel']) }],
  ['limited to tools', { scopes: new Set(['submit', 'read']), tools: ['*'] }],
  ['limited to agents', { scopes: new Set(['submit', 'read']), agents: ['*'] }],
  ['limited to models', { scopes: new Set(['submit', 'read']), models: ['*'] }],
])('a key %s neither runs again nor forks what another one has submitted', async (_name, limits) => {
  const asked: string[] = [];
  const repeat = async (requestId: string) => void asked.push(requestId);
  const guarded = { again: repeat, fork: repeat, runs: {} } as unknown as DirectiveClient;
  const client = guardClient(guarded, quiet);
  const refusal = { problem: { code: 'forbidden' } };
  const calls = [() => client.again('r'), () => client.fork('r', { at: 1 })];
  for (const each of calls)
    await expect(as('low', each, limits as Partial<Principal>)).rejects.toMatchObject(refusal);
  expect(asked).toEqual([]);
});

test('a decision carries the name of its key, or what its caller says', async () => {
  const { bodies, client } = recording();
  await as('ops', () => client.runs.decide('r', 'c', { decision: 'approve' }));
  await as('ops', () => client.runs.decide('r', 'c', { decision: 'deny', by: 'Ada' }));
  await as('ops', () => client.answer('r', 'c.1', { action: 'decline' }));
  expect(bodies).toEqual([
    { decision: 'approve', by: 'ops' },
    { decision: 'deny', by: 'Ada' },
    { action: 'decline', by: 'ops' },
  ]);
});

test('a name that may not stand there is left out, and so is everything without a key', async () => {
  const { bodies, client } = recording();
  await as('a\u001bb', () => client.runs.decide('r', 'c', { decision: 'approve' }));
  await as('ops', () => client.runs.decide('r', 'c', 'nonsense' as never));
  await client.runs.decide('r', 'c', { decision: 'approve' });
  expect(bodies).toEqual([{ decision: 'approve' }, 'nonsense', { decision: 'approve' }]);
});

test('a run that uses the logins of its starter takes input, a resume and changed arguments from its starter alone', async () => {
  const done = async (): Promise<unknown> => ({ request_id: 'r', agent: 'a', input_id: 'i' });
  const guarded = { runs: { input: done, resume: done, decide: done } } as unknown as DirectiveClient;
  const byStarter = (issuer?: string) => {
    const starter = { key: 'k1', ...(issuer === undefined ? {} : { issuer }) };
    return guardClient(guarded, { ...quiet, starterOf: async () => starter }).runs;
  };
  const scopes = { scopes: new Set(['submit', 'decide']) };
  const forbidden = { problem: { code: 'forbidden' } };
  const changed = { decision: 'approve', arguments: { to: 'bob' } } as const;
  await as('ada', () => byStarter().decide('r', 'c', changed), scopes);
  await as('ada', () => byStarter().input('r', {} as never), scopes);
  await as('ada', () => byStarter().resume('r', {} as never), scopes);
  for (const other of [{ id: 'k2' }, { issuer: 'https://other.example' }]) {
    const runs = byStarter();
    await expect(
      as('bob', () => runs.input('r', {} as never), { ...scopes, ...other }),
    ).rejects.toMatchObject(forbidden);
    await expect(
      as('bob', () => runs.resume('r', {} as never), { ...scopes, ...other }),
    ).rejects.toMatchObject(forbidden);
    await expect(
      as('bob', () => runs.decide('r', 'c', changed), { ...scopes, ...other }),
    ).rejects.toMatchObject(forbidden);
    await as('bob', () => runs.decide('r', 'c', { decision: 'approve' }), { ...scopes, ...other });
  }
});
