/** What who has no key can make of ciphertext: nothing. Neither a worker opens what is not as it was sent, nor a client believes what no worker sealed.
 *  It must not need Redis: the service is the attacker here, and says what it likes. */
import { NO_KEYS, type PayloadKeys } from '../../../../src/platform/encryption/payload-keys.ts';
import { describe, expect, test } from 'vitest';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import {
  type Directive,
  directiveSchema,
  type SubmittedDirective,
} from '../../../../src/contract/directive/directive.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import {
  runPlaceOf,
  runSecretsSchema,
  signalPlace,
} from '../../../../src/contract/encrypted/encrypted-run.ts';
import { SEEN_FIELD } from '../../../../src/platform/encryption/encrypted-run.ts';
import { encryptValue } from '../../../../src/platform/encryption/payload-value.ts';
import { createAesCodec } from '../../../../src/platform/encryption/aes-codec.ts';
import { encryptingClient } from '../../../../src/platform/encryption/encrypted-client.ts';
import { encryptDirectives } from '../../../../src/platform/encryption/encrypted-directive.ts';
import {
  openerFor,
  openResult,
  sealFor,
  sealResult,
} from '../../../../src/platform/encryption/encrypted-result.ts';
import { openDirective, sealExecution, sealSaid } from '../../../../src/worker/attempt/encrypted-attempt.ts';

const K1 = `k1=${Buffer.alloc(32, 1).toString('base64')}`;
const K2 = `k2=${Buffer.alloc(32, 2).toString('base64')}`;
const codec = createAesCodec(`${K1},${K2}`);
const keys: PayloadKeys = { ...NO_KEYS, codec };
const place = { tenant: 'default', id: 'd', callersContext: false };
const pay = {
  type: 'tool_exec',
  tool_name: 'bank.pay',
  arguments: { to: 'Ada' },
  request_id: 'r',
  id: 'd',
} as const;

async function sealed(directive: object = pay, by = codec): Promise<Record<string, unknown>> {
  const [made] = await encryptDirectives(by, [directive as SubmittedDirective], undefined);
  return made as unknown as Record<string, unknown>;
}

const parsed = (directive: object): Directive => directiveSchema.parse(directive);

async function errorOf(directive: object, at = place, by = keys): Promise<unknown> {
  const opened = await openDirective(by, parsed(directive), at);
  return opened.kind === 'opened' ? null : opened.execution.result;
}

const failed = (type: string) => ({ ok: false, error: { type, retryable: false } });

describe('a worker', () => {
  test('opens what was encrypted for this tool, and a redrive that the service made', async () => {
    const directive = await sealed();
    expect(await errorOf(directive)).toBe(null);
    const again = { ...directive, id: 'd.redrive-1', metadata: { redrive_of: { request_id: 'r', id: 'd' } } };
    expect(await errorOf(again)).toBe(null);
    const claimed = { ...place, id: 'd.redrive-1' };
    expect(await errorOf(again, claimed)).toMatchObject(failed('decryption_failed'));
  });

  test.each([
    ['for another tool', { tool_name: 'evil.echo' }],
    ['for another server', { server: 'evil' }],
    ['with another repeat policy', { effect: 'read' }],
    ['with a context in clear', { context: { account: 'mallory' } }],
    ['with other arguments in clear', { arguments: { to: 'Mallory' } }],
    ['without its context', { context: {} }],
  ])('does not open it %s', async (_, change) => {
    const directive = await sealed({ ...pay, context: { account: 'ada' } });
    expect(await errorOf(directive)).toBe(null);
    expect(await errorOf({ ...directive, ...change })).toMatchObject(failed('decryption_failed'));
  });

  test('does not open fields under two keys: the answer would be in the key of one', async () => {
    const both = { ...pay, context: { secret: 'of k1' } };
    const [mine, theirs] = [await sealed(both), await sealed(both, createAesCodec(K2))];
    const mixed = { ...mine, arguments: theirs['arguments'] };
    expect(await errorOf(mixed)).toMatchObject(failed('decryption_failed'));
  });

  test('opens for a tenant only what is in its keys, where the configuration names them', async () => {
    const ofTenant = new Map([['acme', new Set(['k1'])]]);
    const bound = { ...keys, ofTenant };
    const directive = await sealed();
    expect(await errorOf(directive, { ...place, tenant: 'acme' }, bound)).toBe(null);
    for (const tenant of ['other', 'default'])
      expect(await errorOf(directive, { ...place, tenant }, bound)).toMatchObject(
        failed('decryption_key_missing'),
      );
  });

  test('blames what is wrong in the arguments on them, and tells only their sender', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`) as object;
    const result = (await errorOf(await sealed({ ...pay, arguments: deep }))) as Parameters<
      typeof openResult
    >[1];
    expect(result).toMatchObject(failed('validation_error'));
    expect(JSON.stringify(result)).not.toContain('nested');
    const { result: clear } = await openResult(openerFor(codec, { request: 'r', id: 'd' }), result);
    expect(JSON.stringify(clear)).toContain('nested deeper');
    expect(JSON.stringify(clear)).toContain('"path":"arguments.');
  });

  test('leaves no word of a tool in clear, whatever the tool names its members', async () => {
    const seal = sealFor(codec, 'k1', { request: 'r', id: 'd', type: 'tool_exec' });
    const words = {
      model: 'word',
      usage: { input_tokens: 1, word: 'word' },
      finish_reason: 'word',
      duration_ms: 'word',
    };
    const ended = await sealResult(seal, { ok: true, payload: words, effects: [] }, {});
    const details = { outcome: 'word', limited_by: 'word', not_retried: 'word', retry_after_ms: 'word' };
    const error = { type: 'word', message: 'word', details, retryable: true };
    const { result, metadata } = await sealExecution(seal, {
      result: { ok: false, error, effects: [] },
      metadata: { model: 'word', cost: 'word', server: 's', sampling: { requests: 1, refusal: 'word' } },
    });
    expect(JSON.stringify([ended, result, metadata])).not.toContain('word');
    const fault = { type: 'unknown_tool', message: 'word', details, retryable: false };
    const unknown = await sealResult(seal, { ok: false, error: fault, effects: [] }, {});
    expect(unknown).toMatchObject({
      error: {
        message:
          'encrypted with the key "k1"; its server has no tool of the name, which is in clear in the directive',
      },
    });
    expect(JSON.stringify(unknown)).not.toContain('word');
    const open = openerFor(codec, { request: 'r', id: 'd' });
    expect((await openResult(open, unknown)).result).toMatchObject({ error: fault });
    expect((await openResult(open, ended)).result).toMatchObject({ payload: words });
    expect((await openResult(open, result)).result).toMatchObject({ error });
  });
});

test('a digest of the arguments confirms no guess to readers without the key (issue 38, attack on point 5)', async () => {
  const data = { call_id: 'd', outcome: 'happened', tool: 'bank.find', arguments_digest: 'digest', asked: 1 };
  const digestBy = async (keyId: string): Promise<unknown> => {
    const seal = sealFor(codec, keyId, { request: 'r', id: 'd', type: 'tool_exec' });
    const said = await sealSaid(seal, { type: 'directive.reconciled', data } as never);
    return Object(said.data).arguments_digest;
  };
  const [first, again, other] = [await digestBy('k1'), await digestBy('k1'), await digestBy('k2')];
  expect(first).toMatch(/^[\w-]{22,64}$/);
  expect([first, other]).toEqual([again, expect.not.stringMatching(`^(?:digest|${String(first)})$`)]);
});

describe('a client', () => {
  const answerOf = (request: string, id: string, payload: unknown): Signal =>
    ({
      type: 'ai.tool.result',
      subject: request,
      data: {
        call_id: id,
        tool_name: 'bank.pay',
        result: { ok: true, payload, effects: [] },
        content: 'x',
        metadata: {},
      },
    }) as unknown as Signal;
  const sealedAnswer = async (request: string, id: string, keyId = 'k1', by = codec): Promise<Signal> => {
    const seal = sealFor(by, keyId, { request, id, type: 'tool_exec' });
    const result = await sealResult(seal, { ok: true, payload: 'paid', effects: [] }, {});
    return answerOf(request, id, result.ok && result.payload);
  };
  const clientOf = (answer: Signal): DirectiveClient =>
    encryptingClient(
      {
        execute: async () => answer,
        result: async () => answer,
        submit: async () => ({ request_id: 'r', directives: [{ id: 'd', result: answer }], links: {} }),
        page: async () => ({ signals: [answer] }),
        payload: async () => 'forged',
      } as unknown as DirectiveClient,
      codec,
    );

  test('takes the sealed answer of its directive, and a cut one', async () => {
    const client = clientOf(await sealedAnswer('r', 'd'));
    expect((await client.execute(pay)).data).toMatchObject({ result: { payload: 'paid' } });
    expect((await client.result('r', 'd'))?.data).toMatchObject({ result: { payload: 'paid' } });
    const cut = {
      truncated: true,
      bytes: 9,
      preview: '{"$encrypted":{"codec":"A256GCM","key_id":"k1","data":"AAA',
    };
    const { data } = await clientOf(answerOf('r', 'd', cut)).execute(pay);
    expect(data).toMatchObject({ result: { payload: { truncated: true, bytes: 9 } } });
  });

  test.each([
    ['in clear', async () => answerOf('r', 'd', 'forged')],
    ['in clear that looks cut', async () => answerOf('r', 'd', { truncated: true, preview: 'forged' })],
    ['of another directive', async () => sealedAnswer('r', 'e')],
    ['of another request', async () => sealedAnswer('s', 'd')],
    ['in a key of nobody', async () => sealedAnswer('r', 'd', 'k9', createAesCodec(K1.replace('k1', 'k9')))],
  ])('takes no answer %s', async (_, answer) => {
    const client = clientOf(await answer());
    const unreadable = { name: 'PayloadUnreadable' };
    await expect(client.execute(pay)).rejects.toMatchObject(unreadable);
    await expect(client.submit(pay)).rejects.toMatchObject(unreadable);
    await expect(client.result('r', 'd')).rejects.toMatchObject(unreadable);
    await expect(client.payload('r', 'd')).rejects.toMatchObject(unreadable);
  });

  test('encrypts a call without arguments too, so that its answer is', async () => {
    expect(await sealed({ ...pay, arguments: undefined })).toMatchObject({
      arguments: { $encrypted: { key_id: 'k1' } },
    });
  });
});

describe('a client of a run', () => {
  const K9 = createAesCodec(K1.replace('k1', 'k9'));
  const run = { request_id: 'r', agent: 'a', query: 'q' };
  const said = { request_id: 'r', run_id: 'r', termination_reason: 'final_answer', result: 'sealed' };
  const shown = { ...said, result: 'forged', details: { forged: true } };
  const endIn = async (by = codec, keyId = 'k1'): Promise<object> => {
    const place = signalPlace('r', 'ai.request.completed', said);
    return { ...shown, ...(await encryptValue(by, said, place, keyId)) };
  };
  const forged = { $encrypted: { codec: 'A256GCM', key_id: 'k1', data: 'A'.repeat(64) } };
  const signalOf = (type: string, data: object): Signal =>
    ({ type, subject: 'r', data }) as unknown as Signal;
  async function clientOf(signals: Signal[], view: object = {}): Promise<DirectiveClient> {
    const client = encryptingClient(
      {
        runs: { start: async () => ({}) },
        page: async () => ({ signals }),
        request: async () => ({ run: view }),
        approvals: async () => ({
          approvals: [
            { request_id: 'r', call_id: 'c', arguments: JSON.stringify(forged), arguments_cut: false },
          ],
        }),
      } as unknown as DirectiveClient,
      codec,
    );
    await client.runs.start(run);
    return client;
  }

  test('reads of its end what its engine encrypted, and nothing that stands beside it', async () => {
    const client = await clientOf([signalOf('ai.request.completed', await endIn())]);
    expect((await client.page('r')).signals[0]?.data).toEqual(said);
    const messages = [{ role: 'user', ...(await encryptValue(codec, { messages: [] }, seenOf('r'), 'k1')) }];
    const view = { run_id: 'r', status: 'completed', messages, details: { forged: true } };
    expect(await (await clientOf([], view)).request('r')).toEqual({
      run: { run_id: 'r', status: 'completed', messages: [] },
    });
  });

  test.each([
    ['in clear', async () => shown],
    ['in a key of nobody', async () => endIn(K9, 'k9')],
  ])('takes no end %s', async (_, data) => {
    const end = await data();
    const client = await clientOf([signalOf('ai.request.completed', end)]);
    await expect(client.page('r')).rejects.toMatchObject({ name: 'PayloadUnreadable' });
    const { $encrypted } = end as { $encrypted?: object };
    const messages = $encrypted === undefined ? [] : [{ role: 'user', $encrypted }];
    const view = { run_id: 'r', status: 'completed', messages, result: 'forged' };
    await expect((await clientOf([], view)).request('r')).rejects.toMatchObject({
      name: 'PayloadUnreadable',
    });
  });

  test('reads on past what anybody may have sent, and what a model has made look encrypted', async () => {
    const sent = [
      signalOf('ai.request.input', { input_id: 'i', content: 'x', ...forged }),
      signalOf('ai.tool.approval_decided', { call_id: 'c', decision: 'deny', arguments: forged }),
      signalOf('ai.request.error', { reason: 'x', message: 'x', metadata: forged }),
    ];
    const client = await clientOf([...sent, signalOf('ai.request.completed', await endIn())]);
    const { signals } = await client.page('r');
    expect(signals.slice(0, 3)).toEqual(sent);
    expect(signals[3]?.data).toEqual(said);
    expect((await client.approvals()).approvals).toMatchObject([{ arguments: JSON.stringify(forged) }]);
  });
});

test('what a run is asked is read up to the first message that is none', () => {
  const read = runSecretsSchema.safeParse({ messages: [{ role: 'user', content: 'x' }, {}, {}, {}] });
  expect(read.error?.issues.map(({ path }) => path)).toEqual([['messages', 1]]);
});

const seenOf = (request: string) => runPlaceOf(request, SEEN_FIELD);
