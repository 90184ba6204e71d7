/** Encrypted runs without Redis: what a turn writes of them, and what an engine takes of what it reads.
 *  It must go through the doors that a turn goes through: the vault that opens, and the seal that closes. */
import { expect, test } from 'vitest';
import { agentDefinitionSchema } from '../../../../src/contract/run/agent-definition.ts';
import { encodedIn } from '../../../../src/contract/encrypted/encrypted.ts';
import { okResult } from '../../../../src/contract/result.ts';
import type { Directive } from '../../../../src/contract/directive/directive.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { createAesCodec } from '../../../../src/platform/encryption/aes-codec.ts';
import { decryptRun, decryptSignal } from '../../../../src/platform/encryption/decrypted-signal.ts';
import {
  encryptDecision,
  encryptInput,
  encryptRun,
} from '../../../../src/platform/encryption/encrypted-run.ts';
import { sealFor, sealResult } from '../../../../src/platform/encryption/encrypted-result.ts';
import { NO_KEYS, type PayloadKeys } from '../../../../src/platform/encryption/payload-keys.ts';
import { createCore } from '../../../../src/agents/core/core.ts';
import { runView } from '../../../../src/agents/core/run-view.ts';
import { begun, type Folded } from '../../../../src/agents/turn/fold.ts';
import {
  type RunSeal,
  sealFolded,
  sealHistory,
  sealSignal,
  sealSpec,
  unsealable,
} from '../../../../src/agents/encryption/run-seal.ts';
import { createRunVault, openHistory } from '../../../../src/agents/encryption/run-vault.ts';
import { takeTurns, type TurnParts } from '../../../../src/agents/turn/turn.ts';
import type { StoredRun } from '../../../../src/agents/turn/run-store.ts';
import { writtenTurn } from '../../../../src/agents/turn/written-turn.ts';
import { terminalSignal } from '../../../../src/store/log/terminal-signal.ts';
import type { Logger } from '../../../../src/platform/telemetry/logger.ts';
import type { ReadTexts } from '../../../../src/agents/turn/stored-text.ts';
import type { EmittedSignal, RunSpec } from '../../../../src/agents/turn/transition.ts';

const CANARY = 'canary-90f3';
const codec = createAesCodec(`k1=${Buffer.alloc(32, 1).toString('base64')}`);
const keys: PayloadKeys = { ...NO_KEYS, codec };
const open = createRunVault(keys, { get: async () => null });
const seal: RunSeal = { codec, keyId: 'k1', request: 'r' };

const spec: RunSpec = {
  request_id: 'r',
  run_id: 'r',
  agent: 'helper',
  query: CANARY,
  messages: [{ role: 'user', content: CANARY }],
  overrides: { system_prompt: CANARY, tool_context: { secret: CANARY }, max_tokens: 9 },
  metadata: { tag: 'open' },
  conversation_id: null,
  parent: null,
  started_at: 1,
};
const agent = agentDefinitionSchema.parse({ name: 'helper', model: 'p:m', tools: ['*'] });
const tools = [{ name: 'a.b', server: 'a', tool: 'b', input_schema: {}, effect: 'once' as const }];

const { document, ...first } = createCore().begin(spec, { agent, tools } as never, 1);
const call = { type: 'tool_exec', id: 'c1', tool_name: 'a.b', arguments: { text: CANARY } } as const;
const full = {
  ...document,
  outbox: [{ id: 'o', kind: 'cancel_request', request_id: 'x', reason: CANARY, asked_at: 1 }] as never,
  inner: {
    ...document.inner,
    strategy: { thought: CANARY },
    agent_state: { [CANARY]: 1 },
    anchors: { a: CANARY },
    held: { c1: { call, deadline_at: 5 } },
    waiting: [{ ...call, id: 'c2', tool_name: CANARY }],
    open: { c3: { type: 'emit_tool_error', name: CANARY } },
    inputs: [{ id: 'i', content: CANARY }],
    answer: { result: CANARY, inputs: [] },
    children: [{ tag: 't', request_id: 'r.c1', agent: CANARY, status: 'starting' }],
    timers: [{ id: 't', due_at: 9, message: CANARY }],
    result: { text: CANARY },
    details: { gap: CANARY },
    error: { type: CANARY, message: CANARY, details: { CANARY }, retryable: true },
    termination_reason: CANARY,
  },
};

const read = (more: Partial<ReadTexts>): ReadTexts => ({
  spec,
  document: null,
  signals: [],
  fault: null,
  later: false,
  hasSetup: true,
  ...more,
});

async function reopened(more: Partial<ReadTexts>, from = open, requestId = 'r') {
  const sealedSpec = await sealSpec(seal, spec);
  const opened = await from(requestId, read({ spec: sealedSpec, ...more }));
  if (opened.kind === 'locked') return opened.failure;
  return opened.read;
}

test('what a turn writes holds no word of the run, and is read again as it was', async () => {
  const { started_at: _at, ...stored } = await sealSpec(seal, spec);
  const folded = await sealFolded(
    seal,
    {
      ...begun({ ...first, document: full }, 'r'),
      log: [
        { level: 'warn', message: CANARY, details: { CANARY } },
        { level: 'info', message: CANARY, details: {} },
      ],
    },
    spec,
  );
  expect(first.directives).toHaveLength(1);
  expect(JSON.stringify([stored, folded])).not.toContain(CANARY);
  expect(folded.log).toMatchObject([{ level: 'warn', details: { key_id: 'k1' } }]);
  const again = await reopened({
    spec: stored,
    document: JSON.parse(JSON.stringify(folded.document)) as never,
  });
  expect(again).toMatchObject({ document: JSON.parse(JSON.stringify(full)) as object });
  expect((again as ReadTexts).spec).toEqual(JSON.parse(JSON.stringify({ ...spec, started_at: undefined })));
});

test('who has the key sees the run as it would be in clear, and others how it goes', async () => {
  const folded = await sealFolded(seal, begun({ ...first, document: full }, 'r'), spec);
  const shown = { ...runView(await sealSpec(seal, spec), folded.document), ended_at: null };
  expect(shown).toMatchObject({
    query: 'encrypted with the key "k1"',
    result: { $encrypted: { key_id: 'k1' } },
    error: { type: 'execution_error', details: {} },
    waiting_for: expect.arrayContaining([
      expect.objectContaining({ kind: 'approval', id: 'c1', name: 'a.b' }),
    ]) as unknown,
  });
  const { query, messages, result, error, details, termination_reason } = runView(spec, full);
  expect(await decryptRun(codec, shown, true)).toMatchObject(
    JSON.parse(JSON.stringify({ query, messages, result, error, details, termination_reason })) as object,
  );
  const clear = { ...runView(spec, full), status: 'completed' as const, ended_at: null };
  await expect(decryptRun(codec, clear, true)).rejects.toMatchObject({ reason: 'in_clear' });
});

test.each<EmittedSignal>([
  { type: 'ai.request.started', data: { request_id: 'r', query: CANARY, run_id: 'r' } },
  { type: 'ai.request.completed', data: { result: CANARY, details: { CANARY }, termination_reason: CANARY } },
  { type: 'ai.request.failed', data: { error: { type: CANARY, message: CANARY } } },
  {
    type: 'ai.request.error',
    data: { request_id: 'r', reason: CANARY, message: CANARY, metadata: { CANARY } },
  },
  {
    type: 'ai.tool.approval_requested',
    data: { call_id: 'c', tool_name: CANARY, arguments: { CANARY }, reason: CANARY },
  },
  { type: 'agent.scheduled', data: { timer_id: 't', message: { CANARY }, metadata: { CANARY } } },
  {
    type: 'agent.child.exit',
    data: { tag: 't', child_request_id: 'c', status: 'failed', result: CANARY, error: CANARY },
  },
  { type: 'agent.parent.exit', data: { parent_request_id: 'p', reason: CANARY } },
  { type: 'agent.error', data: { error: CANARY, context: [CANARY], metadata: {} } },
  { type: 'agent.phase_changed', data: { call_id: 'c', phase: CANARY, previous: CANARY, metadata: {} } },
  {
    type: 'directive.ignored',
    data: { call_id: 'c', directive_type: CANARY, reason: CANARY, metadata: { CANARY } },
  },
  { type: 'presenter.notified', data: { key: CANARY, data: { CANARY } } },
  { type: 'ai.of.tomorrow', data: { call_id: CANARY } },
])('a signal $type says nothing without the key, and everything with it', async (signal) => {
  const sealed = await sealSignal(seal, signal, full);
  expect(JSON.stringify(sealed)).not.toContain(CANARY);
  const logged = { ...sealed, subject: 'r', sequence: 1 } as unknown as Signal;
  expect((await decryptSignal(codec, logged)).data).toEqual(signal.data);
  const elsewhere = { ...logged, subject: 'other' };
  await expect(decryptSignal(codec, elsewhere)).rejects.toMatchObject({ reason: 'damaged' });
});

test('what a run was started with is opened for this run, agent and conversation alone', async () => {
  const { encrypted, overrides } = await encryptRun(codec, { ...spec, conversation_id: 'talk' });
  expect(overrides).toEqual({ max_tokens: 9 });
  const given = { ...spec, query: '', messages: [], overrides, conversation_id: 'talk', encrypted };
  expect(await open('r', read({ spec: given }))).toMatchObject({
    kind: 'locked',
    failure: { reason: 'validation_error' },
  });
  const { messages: _messages, ...asked } = { ...spec, conversation_id: 'talk' };
  const whole = { ...given, encrypted: (await encryptRun(codec, asked)).encrypted };
  expect(await open('acme~r', read({ spec: whole }))).toMatchObject({
    read: { spec: { query: CANARY, overrides: spec.overrides, messages: spec.messages } },
  });
  for (const other of [{ agent: 'x' }, { conversation_id: null }])
    expect(await open('r', read({ spec: { ...whole, ...other } }))).toMatchObject({
      failure: { reason: 'decryption_failed' },
    });
  expect(await open('s', read({ spec: whole }))).toMatchObject({ failure: { reason: 'decryption_failed' } });
});

test('a key that is not here, or not the tenant\u2019s, opens nothing', async () => {
  const none = createRunVault(NO_KEYS, { get: async () => null });
  expect(await reopened({}, none)).toMatchObject({
    reason: 'decryption_key_missing',
    details: { key_id: 'k1' },
  });
  const ofTenant = new Map([['acme', new Set(['k1'])]]);
  const tenants = createRunVault({ ...keys, ofTenant }, { get: async () => null });
  expect(await reopened({}, tenants, 'globex~r')).toMatchObject({ reason: 'decryption_key_missing' });
  expect(await reopened({}, tenants, 'acme~r')).toMatchObject({ spec: { query: CANARY } });
});

test('a document in clear is no state of an encrypted run, except for the end that an engine without the key gave it', async () => {
  expect(await reopened({ document: full })).toMatchObject({ reason: 'decryption_failed' });
  expect(await reopened({ document: { ...document, status: 'failed' } })).toMatchObject({
    document: { status: 'failed' },
  });
});

const answer = (result: object, more: object = {}) =>
  ({
    type: 'ai.tool.result',
    subject: 'r',
    data: { call_id: 'c1', tool_name: 'a.b', result, content: '', metadata: {}, ...more },
  }) as unknown as Signal;

async function heard(signal: Signal, from = open): Promise<unknown> {
  const opened = await reopened({ signals: [signal] }, from);
  return (opened as ReadTexts).signals[0]?.data;
}

test('an answer counts if the worker has sealed it for this call', async () => {
  const sealed = async (id: string) =>
    sealResult(sealFor(codec, 'k1', { request: 'r', id, type: 'tool_exec' }), okResult({ text: CANARY }), {});
  expect(await heard(answer(await sealed('c1')))).toMatchObject({
    result: { ok: true, payload: { text: CANARY } },
  });
  for (const forged of [await sealed('c2'), okResult({ text: 'forged' })])
    expect(await heard(answer(forged))).toMatchObject({
      result: { ok: false, error: { type: 'decryption_failed' } },
      content: expect.not.stringContaining('forged') as string,
    });
  const { payload } = (await sealed('c1')) as unknown as { payload: object };
  const kept = createRunVault(keys, {
    get: async (request, id) => (`${request}/${id}` === 'r/c1' ? JSON.stringify(payload) : null),
  });
  const cut = { truncated: true, bytes: 999, limit_bytes: 12, preview: JSON.stringify(payload).slice(0, 60) };
  const large = answer(okResult(cut), { metadata: { result_truncated_bytes: 999 } });
  expect(await heard(large, kept)).toMatchObject({
    result: { payload: { truncated: true, limit_bytes: 12, preview: `{"text":"${CANARY}"}` } },
  });
  expect(await heard(large)).toMatchObject({ result: { ok: false, error: { type: 'decryption_failed' } } });
});

test('inputs and decisions count as they were encrypted for their ids', async () => {
  const { content } = await encryptInput(codec, 'r', { input_id: 'i', content: CANARY });
  const input = (id: string, data: object) =>
    ({ type: 'ai.request.input', data: { request_id: 'r', input_id: id, ...data } }) as unknown as Signal;
  const form = { content: 'note', $encrypted: encodedIn(content) };
  expect(await heard(input('i', form))).toMatchObject({ content: CANARY });
  for (const other of [input('j', form), input('i', { content: 'in clear' })])
    expect(await heard(other)).toMatchObject({ content: expect.stringContaining('left out') as string });
  const body = { decision: 'approve', arguments: { text: CANARY }, reason: CANARY, by: 'Ada' } as const;
  const edited = await encryptDecision(codec, 'r', 'c1', body);
  expect(JSON.stringify(edited)).not.toContain(CANARY);
  const decision = (data: object) => ({ type: 'ai.tool.approval_decided', data }) as unknown as Signal;
  expect(await heard(decision({ call_id: 'c1', ...edited }))).toMatchObject({ ...body, call_id: 'c1' });
  for (const data of [
    { call_id: 'c2', ...edited },
    { call_id: 'c1', ...body },
  ])
    expect(await heard(decision(data))).toMatchObject({ decision: 'deny' });
  expect(await heard(decision({ call_id: 'c1', decision: 'approve' }))).toMatchObject({
    decision: 'approve',
  });
});

test('directives are encrypted, with what no worker needs left out; what cannot be is named', async () => {
  const { encrypted: _none, ...plain } = { encrypted: 1, ...begun({ ...first, document: full }, 'r') };
  const directives = [
    { ...call, request_id: 'r', metadata: { run_id: 'r', note: CANARY } },
    { type: 'emit_tool_error', id: 'e', request_id: 'r', tool_name: CANARY, error: CANARY, metadata: {} },
    {
      type: 'emit_request_error',
      id: 'f',
      request_id: 'r',
      reason: CANARY,
      message: CANARY,
      metadata: { CANARY },
    },
  ] as never;
  const sealed = await sealFolded(seal, { ...plain, directives }, spec);
  expect(JSON.stringify(sealed.directives)).not.toContain(CANARY);
  expect(sealed.directives).toMatchObject([
    { arguments: { $encrypted: { key_id: 'k1' } }, metadata: { run_id: 'r' } },
    { tool_name: 'unknown', error: { details: { $encrypted: { key_id: 'k1' } } } },
    { message: 'encrypted with the key "k1"' },
  ]);
  expect(unsealable({ directives })).toBeNull();
  expect(unsealable({ directives: [{ type: 'shop.order', id: 'x', request_id: 'r', metadata: {} }] })).toBe(
    'shop.order',
  );
});

test('the history of a conversation is read in this conversation alone', async () => {
  const messages = [{ role: 'user', content: CANARY }];
  const sealed = await sealHistory(seal, { conversation_id: 'talk', messages });
  expect(JSON.stringify(sealed)).not.toContain(CANARY);
  const encoded = encodedIn(sealed[0]);
  if (encoded === null) throw new Error('no history');
  expect(await openHistory(seal, 'talk', encoded)).toEqual(messages);
  await expect(openHistory(seal, 'walk', encoded)).rejects.toMatchObject({ reason: 'damaged' });
});

test('an error that a run reports is read with the key', async () => {
  const directive = {
    type: 'emit_request_error',
    id: 'f',
    request_id: 'r',
    reason: CANARY,
    message: CANARY,
    metadata: {},
  };
  const folded = begun({ ...first, document: full }, 'r');
  const [sealed] = (await sealFolded(seal, { ...folded, directives: [directive] as never }, spec)).directives;
  const origin = {
    requestId: 'r',
    causationId: 'f',
    traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-00`,
  };
  const signal = { ...terminalSignal(sealed as Directive, okResult(null), origin), sequence: 1 } as Signal;
  expect(JSON.stringify(signal)).not.toContain(CANARY);
  expect((await decryptSignal(codec, signal)).data).toMatchObject({ reason: CANARY, message: CANARY });
});

test.each<[string, object, object]>([
  [
    'a directive that cannot be encrypted',
    { directives: [{ type: 'shop.order', id: 'x', text: CANARY }] },
    { type: 'strategy_error' },
  ],
  [
    'what is no JSON',
    { document: { ...full, inner: { ...full.inner, strategy: { [CANARY]: 1n } } } },
    { type: 'internal_error' },
  ],
])('%s ends the run, and says nothing in clear', async (_, more, error) => {
  const logged: unknown[] = [];
  const note = (...given: unknown[]): void => void logged.push(given);
  const logger = { trace: note, debug: note, info: note, warn: note, error: note } as unknown as Logger;
  const run = {
    requestId: 'r',
    spec,
    document,
    now: 2,
    seal,
    hasSetup: false,
    traceparent: '',
    signals: [],
  } as unknown as StoredRun;
  const turn = { folded: { ...begun({ ...first, document: full }, 'r'), ...more } as Folded, spec: null };
  const written = await writtenTurn({ core: createCore(), logger }, run, turn);
  expect(JSON.stringify([written, logged])).not.toContain(CANARY);
  expect(JSON.parse(written.texts.document)).toMatchObject({
    status: 'failed',
    inner: { error },
  });
  expect(written.turn.folded.directives).toEqual([]);
  expect(written.turn.spec).toMatchObject({ query: 'encrypted with the key "k1"' });
});

test('what is left to do of an encrypted run that has ended is left to an engine with its key', async () => {
  const woken: unknown[] = [];
  const ended = {
    lock: { reason: 'decryption_key_missing', message: '' },
    endedAt: 1,
    later: false,
    requestId: 'r',
  };
  const parts = {
    store: { read: async () => ended },
    waker: { wakeAt: async (requestId: string) => void woken.push(requestId) },
  } as unknown as TurnParts;
  await takeTurns(parts, 'r');
  expect(woken).toEqual(['r']);
});
