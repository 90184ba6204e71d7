/** What every transport promises about runs: one suite, run for each.
 *  It must never use anything that only one transport can know. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agentListingSchema } from '../../src/contract/run/agent-listing.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { repeatedRequestSchema } from '../../src/contract/run/again.ts';
import { requestViewSchema } from '../../src/contract/request/request-view.ts';
import {
  acceptedInputSchema,
  recordedDecisionSchema,
  startedRunSchema,
  type SubmittedRun,
} from '../../src/contract/run/run.ts';
import { DirectiveRefused, ServiceUnavailable } from '../../src/contract/problem.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { untilHolds } from '../support/eventually.ts';
import { all, newId, refusal, tracesOf, type TransportSetup } from './client-reading.ts';

/**
 * Of a service with an engine, and two agents: `talker`, whose model answers `hello` with `Hi.`; and `careful`, whose
 * model calls `peer.add` and `peer.echo` when it is told `work`, both after approval, and says `Done.` then.
 */
export function runClientContract(transport: string, setup: () => Promise<TransportSetup>): void {
  describe(`runs through the ${transport} client`, () => {
    let parts: TransportSetup;
    let client: DirectiveClient;

    beforeAll(async () => {
      parts = await setup();
      client = parts.client;
    });
    afterAll(async () => {
      await client?.close();
      await parts?.stop();
    });

    /** A run of `careful`, and its calls that wait for approval. */
    async function waiting(): Promise<{ requestId: string; calls: string[] }> {
      const { request_id: requestId } = await client.runs.start({ agent: 'careful', query: 'work' });
      const calls: string[] = [];
      for await (const signal of client.signals(requestId)) {
        if (signal.type === 'ai.tool.approval_requested') calls.push(signal.data.call_id);
        if (calls.length === 2) break;
      }
      return { requestId, calls };
    }

    async function letGo(requestId: string, calls: readonly string[]): Promise<void> {
      for (const call of calls) await client.runs.decide(requestId, call, { decision: 'approve' });
      await all(client.signals(requestId));
    }

    describe('run', () => {
      test('resolves with the run once it has ended, whatever its end is', async () => {
        const run = await client.runs.run({ agent: 'talker', query: 'hello' }, { timeoutMs: 60_000 });
        expect(run).toMatchObject({ status: 'completed', result: 'Hi.', termination_reason: 'final_answer' });
        const requestId = newId();
        const answer = client.runs.run({ agent: 'careful', query: 'work', request_id: requestId });
        await untilHolds(async () => expect(await client.request(requestId)).not.toBeNull());
        await client.cancel(requestId);
        expect(await answer).toMatchObject({ status: 'cancelled' });
      });

      test('rejects after its time or by its signal, and the run continues', async () => {
        const work = { agent: 'careful', query: 'work', request_id: newId() };
        await expect(client.runs.run(work, { timeoutMs: 1 })).rejects.toBeInstanceOf(ServiceUnavailable);
        const left = AbortSignal.abort(new Error('left'));
        await expect(client.runs.run(work, { signal: left })).rejects.toThrow('left');
        expect(await client.request(work.request_id)).toMatchObject({ run: { ended_at: null } });
        await client.cancel(work.request_id);
      });
    });

    describe('again', () => {
      test('is a new run from what the original began with; both name each other, and a repeat by key is the same run', async () => {
        const { request_id: from } = await client.runs.start({
          agent: 'talker',
          query: 'hello',
          metadata: { tags: ['mine'] },
        });
        await all(client.signals(from));
        const idempotencyKey = newId();
        const repeated = await client.again(from, {}, { idempotencyKey });
        expect(repeatedRequestSchema.parse(repeated)).toEqual(repeated);
        const origin = { request_id: from, kind: 'again' };
        expect(repeated).toMatchObject({ agent: 'talker', origin });
        expect(repeated.request_id).not.toBe(from);
        expect(await client.again(from, {}, { idempotencyKey })).toEqual(repeated);
        const signals = await all(client.signals(repeated.request_id));
        expect(signals.at(0)).toMatchObject({ type: 'ai.request.started', data: { query: 'hello', origin } });
        const view = await client.request(repeated.request_id);
        expect(requestViewSchema.parse(view)).toEqual(view);
        expect(view?.run).toMatchObject({ origin, result: 'Hi.', iterations: 1 });
        expect(await client.request(from)).toMatchObject({ descendants: [repeated.request_id] });
        const other = client.again(from, { query: 'hello you' }, { idempotencyKey });
        expect(await refusal(other)).toMatchObject({ code: 'idempotency_conflict' });
      });

      test('takes another query, agent and model', async () => {
        const { request_id: from } = await client.runs.start({ agent: 'talker', query: 'hello' });
        await all(client.signals(from));
        const changes = { query: 'work', agent: 'careful', overrides: { max_tokens: 7 } };
        const { request_id } = await client.again(from, changes);
        await untilHolds(async () =>
          expect((await client.request(request_id))?.run?.waiting_for).toHaveLength(2),
        );
        expect((await client.request(request_id))?.run).toMatchObject({ agent: 'careful', query: 'work' });
        const asked = await client.directive(request_id, 'model-1');
        expect(asked?.directive).toMatchObject({ max_tokens: 7 });
        await client.cancel(request_id);
        const model = await client.again(from, { model: 'mock:other' });
        await all(client.signals(model.request_id));
        const other = await client.directive(model.request_id, 'model-1');
        expect(other?.directive).toMatchObject({ model: 'mock:other' });
      });

      test('of a call submits it again, with other arguments where some are given', async () => {
        const request_id = newId();
        const call = { type: 'tool_exec' as const, tool_name: 'peer.echo', arguments: { said: 'a' } };
        await client.execute({ ...call, request_id, id: 'c' });
        const repeated = await client.again(request_id, { arguments: { said: 'b' } });
        expect(repeated).toMatchObject({ id: 'c', type: 'tool_exec', origin: { request_id } });
        await client.result(repeated.request_id, 'c');
        const view = await client.directive(repeated.request_id, 'c');
        expect(view?.directive).toMatchObject({
          arguments: { said: 'b' },
          metadata: { again_of: { request_id, id: 'c' } },
        });
        expect(await client.request(request_id)).toMatchObject({ descendants: [repeated.request_id] });
        for (const wrong of [{ query: 'x' }, { agent: 'talker' }, { model: 'mock:m' }])
          expect(await refusal(client.again(request_id, wrong))).toMatchObject({ code: 'invalid_body' });
      });

      test('of several directives needs the name of one; of an unknown request is refused', async () => {
        const request_id = newId();
        const emit = { type: 'emit_tool_error' as const, tool_name: 't', error: 'e', request_id };
        await client.submit([
          { ...emit, id: 'a' },
          { ...emit, id: 'b' },
        ]);
        const problem = await refusal(client.again(request_id));
        expect(problem).toMatchObject({ code: 'invalid_body', errors: [{ path: 'directive' }] });
        expect(await client.again(request_id, { directive: 'b' })).toMatchObject({ id: 'b' });
        expect(await refusal(client.again(newId()))).toMatchObject({ code: 'not_found' });
        for (const id of ['schedule.a.b', 'webhook.a', 'once.a']) {
          const taken = await refusal(client.again(request_id, { directive: 'b', request_id: id }));
          expect(taken).toMatchObject({ code: 'invalid_body', errors: [{ path: 'request_id' }] });
        }
      });
    });

    describe('fork', () => {
      /** The original has called `peer.add` and `peer.echo` once each. */
      async function worked(): Promise<string> {
        const { requestId, calls } = await waiting();
        await letGo(requestId, calls);
        return requestId;
      }

      /** The calls of a fork that its record has answered. */
      const recordedIn = (signals: readonly Signal[]) =>
        signals.flatMap(({ type, data }) => {
          const { call_id, metadata } = Object(data) as {
            call_id?: string;
            metadata?: { from_record?: object };
          };
          return type === 'ai.tool.result' && metadata?.from_record ? [[call_id, metadata.from_record]] : [];
        });

      test('answers a once call from the record of the original; a tool that reads acts, by the policy of the agent', async () => {
        const from = await worked();
        const { request_id } = await client.fork(from, { at: 1 });
        const asked = async () => (await client.request(request_id))?.run?.waiting_for.map(({ id }) => id);
        await untilHolds(async () => expect(await asked()).toEqual(['tool-1-1']));
        await letGo(request_id, ['tool-1-1']);
        const signals = await all(client.signals(request_id));
        expect(recordedIn(signals)).toEqual([['tool-1-0', { request_id: from, call_id: 'tool-1-0' }]]);
        expect((await client.request(request_id))?.run).toMatchObject({ result: 'Done.', tool_calls: 1 });
      });

      test('that is dry calls no tool; both name each other, and nothing before the turn is paid', async () => {
        const from = await worked();
        const forked = await client.fork(from, { at: 1, dry: true });
        expect(repeatedRequestSchema.parse(forked)).toEqual(forked);
        const origin = { request_id: from, kind: 'fork', turn: 1 };
        expect(forked).toMatchObject({ agent: 'careful', origin });
        const signals = await all(client.signals(forked.request_id));
        expect(signals.at(-1)).toMatchObject({ type: 'ai.request.completed', data: { result: 'Done.' } });
        expect(recordedIn(signals)).toEqual(
          ['tool-1-0', 'tool-1-1'].map((call_id) => [call_id, { request_id: from, call_id }]),
        );
        const view = await client.request(forked.request_id);
        expect(requestViewSchema.parse(view)).toEqual(view);
        expect(view?.run).toMatchObject({ origin, tool_calls: 0, iterations: 2 });
        expect((await client.request(from))?.descendants).toEqual([forked.request_id]);
      });

      test('at a later turn asks only from there on, with what is said and other results', async () => {
        const from = await worked();
        const results = { 'tool-1-0': 'seven', call_echo: { said: 'bye' } };
        const fork = { at: 2, say: 'forked', results, system_prompt: 'Be brief.', model: 'mock:other' };
        const { request_id } = await client.fork(from, fork);
        await all(client.signals(request_id));
        const view = await client.request(request_id);
        expect(view?.run).toMatchObject({ result: 'Done.', iterations: 1 });
        expect(view?.directives.map(({ id }) => id)).toEqual(['model-1']);
        const asked = await client.directive(request_id, 'model-1');
        expect(asked?.directive).toMatchObject({
          model: 'mock:other',
          system_prompt: 'Be brief.',
          context: {
            messages: [
              { role: 'user', content: 'work' },
              { role: 'assistant' },
              { role: 'tool', tool_call_id: 'call_add', content: 'seven' },
              { role: 'tool', tool_call_id: 'call_echo', content: '{"said":"bye"}' },
              { role: 'user', content: 'forked' },
            ],
          },
        });
      });

      test('is one run for one id, and names what is wrong with a turn or a result', async () => {
        const from = await worked();
        const fork = { at: 2, request_id: newId() };
        const first = await client.fork(from, fork);
        expect(await client.fork(from, fork)).toEqual(first);
        expect(await refusal(client.fork(from, { ...fork, say: 'x' }))).toMatchObject({
          code: 'id_conflict',
        });
        const none = await refusal(client.fork(from, { at: 3 }));
        expect(none).toMatchObject({ code: 'not_found', errors: [{ path: 'at' }] });
        const reserved = await refusal(client.fork(from, { at: 2, request_id: 'schedule.a.b' }));
        expect(reserved).toMatchObject({ code: 'invalid_body', errors: [{ path: 'request_id' }] });
        const result = await refusal(client.fork(from, { at: 2, results: { nope: 1 } }));
        expect(result).toMatchObject({ code: 'invalid_body', errors: [{ path: 'results.nope' }] });
        // Members that no schema may keep are named, not left out.
        const proto = JSON.parse('{"__proto__":1}') as Record<string, unknown>;
        for (const [given, path] of [
          [client.fork(from, { at: 2, results: proto }), 'results.__proto__'],
          [client.again(from, { overrides: { tool_context: proto } }), 'overrides.tool_context.__proto__'],
        ] as const)
          expect(await refusal(given)).toMatchObject({ code: 'invalid_body', errors: [{ path }] });
        await all(client.signals(first.request_id));
      });
    });

    describe('start', () => {
      test('under a key is one run at a time, and the same submission is one run', async () => {
        const singleton = { key: newId() };
        const run: SubmittedRun = { agent: 'careful', query: 'work', singleton };
        const started = await client.runs.start(run, { idempotencyKey: singleton.key });
        expect(startedRunSchema.parse(started)).toEqual(started);
        expect(started.once?.outcome).toBe('began');
        const again = await client.runs.start(run, { idempotencyKey: singleton.key });
        expect({ ...again, status: started.status }).toEqual(started);
        const { request_id } = started;
        const problem = await refusal(client.runs.start(run));
        expect(problem).toMatchObject({ code: 'singleton_open', open: { request_id } });
        const joined = await client.runs.start({ ...run, singleton: { ...singleton, when_open: 'join' } });
        expect(joined).toMatchObject({ request_id, once: { outcome: 'joined' } });
        const replacing = { ...run, singleton: { ...singleton, when_open: 'replace' as const } };
        const next = await client.runs.start({ ...replacing, agent: 'talker', query: 'hello' });
        expect(next.once).toMatchObject({ outcome: 'replaced', replaces: { request_id } });
        const signals = await all(client.signals(next.request_id));
        expect(signals.at(-1)).toMatchObject({ type: 'ai.request.completed', data: { result: 'Hi.' } });
        expect((await client.request(request_id))?.run).toMatchObject({ status: 'cancelled' });
      });

      test('of an unknown agent is refused, with the known ones', async () => {
        const problem = await refusal(client.runs.start({ agent: 'nobody', query: 'hello' }));
        expect(problem).toMatchObject({ code: 'not_found', status: 404, errors: [{ path: 'agent' }] });
        expect(problem.detail).toMatch(/careful.*talker/);
      });

      test.each([
        ['neither query nor messages', { agent: 'talker' }, 'query'],
        ['both', { agent: 'talker', query: 'a', messages: [{ role: 'user', content: 'a' }] }, 'query'],
        ['an unknown member', { agent: 'talker', query: 'a', colour: 'red' }, 'colour'],
        [
          'a wrong limit',
          { agent: 'talker', query: 'a', overrides: { max_tokens: 0 } },
          'overrides.max_tokens',
        ],
        ['no object', ['talker'], ''],
      ])('with %s is refused at its place', async (_, body, path) => {
        const problem = await refusal(client.runs.start(body as unknown as SubmittedRun));
        expect(problem).toMatchObject({ code: 'invalid_body', status: 400 });
        expect(problem.errors?.map((error) => error.path)).toContain(path);
      });

      test('carries the trace it was given into every signal', async () => {
        const trace = '0af7651916cd43dd8448eb211c80319c';
        const { request_id: requestId } = await client.runs.start(
          { agent: 'talker', query: 'hello' },
          { traceparent: `00-${trace}-b7ad6b7169203331-01` },
        );
        expect(await tracesOf(client.signals(requestId))).toEqual(new Set([trace]));
      });
    });

    describe('input', () => {
      test('waits in order, and the same input sent twice is one', async () => {
        const { requestId, calls } = await waiting();
        const input = { input_id: 'i-1', content: 'one' };
        const first = await client.runs.input(requestId, input);
        expect(acceptedInputSchema.parse(first)).toEqual(first);
        expect(first).toMatchObject({ request_id: requestId, input_id: 'i-1' });
        await client.runs.input(requestId, input);
        await client.runs.input(requestId, { content: 'two', source: 'a test' });
        const conflict = await refusal(client.runs.input(requestId, { ...input, content: 'other' }));
        expect(conflict.code).toBe('id_conflict');
        await letGo(requestId, calls);
        const signals = await all(client.signals(requestId));
        const contents = signals.flatMap((signal) =>
          signal.type === 'ai.request.input' ? [signal.data.content] : [],
        );
        expect(contents).toEqual(['one', 'two']);
        const { run } = (await client.request(requestId)) ?? {};
        const said = run?.messages.filter(({ role }) => role === 'user').map((message) => message['content']);
        expect(JSON.stringify(said)).toMatch(/work.*one.*two/);
      });

      test('is refused while 64 others wait', async () => {
        const { requestId, calls } = await waiting();
        const given = await Promise.allSettled(
          Array.from({ length: 66 }, async (_, index) =>
            client.runs.input(requestId, { input_id: `i-${index}`, content: `${index}` }),
          ),
        );
        const refused = given.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
        expect(given.length - refused.length).toBe(64);
        for (const reason of refused)
          expect((reason as DirectiveRefused).problem).toMatchObject({
            code: 'input_queue_full',
            status: 429,
          });
        await letGo(requestId, calls);
      });
    });

    describe('decide', () => {
      test('lets a call continue, or makes it an error; a decision sent twice is one', async () => {
        const { requestId, calls } = await waiting();
        const [one = '', other = ''] = calls;
        const view = await client.request(requestId);
        expect(view?.run?.status).toBe('waiting');
        expect(view?.run?.waiting_for.map(({ kind, id }) => [kind, id])).toEqual(
          calls.map((id) => ['approval', id]),
        );
        const deny = { decision: 'deny', reason: 'too dear', by: 'Ada' } as const;
        const denied = await client.runs.decide(requestId, one, deny);
        expect(recordedDecisionSchema.parse(denied)).toEqual(denied);
        const { decided_at } = denied;
        expect(denied).toEqual({
          request_id: requestId,
          call_id: one,
          decision: 'deny',
          by: 'Ada',
          decided_at,
        });
        // Whoever decides the same is told who was first.
        expect(await client.runs.decide(requestId, one, { ...deny, by: 'Bob' })).toEqual(denied);
        const problem = await refusal(client.runs.decide(requestId, one, { decision: 'approve', by: 'Bob' }));
        expect(problem).toMatchObject({
          code: 'already_decided',
          status: 409,
          detail: `the call "${one}" was denied at ${decided_at} by Ada`,
          decided: { decision: 'deny', by: 'Ada', decided_at },
        });
        await client.runs.decide(requestId, other, { decision: 'approve' });
        const signals = await all(client.signals(requestId));
        const results = signals.flatMap((signal) =>
          signal.type === 'ai.tool.result' ? [[signal.data.call_id, signal.data.result.ok]] : [],
        );
        expect(new Map(results as [string, boolean][])).toEqual(
          new Map([
            [one, false],
            [other, true],
          ]),
        );
        expect(signals.at(-1)).toMatchObject({ type: 'ai.request.completed', data: { result: 'Done.' } });
      });

      test('about a call that does not wait is refused', async () => {
        const { requestId, calls } = await waiting();
        const approve = { decision: 'approve' } as const;
        expect((await refusal(client.runs.decide(requestId, 'nobody', approve))).code).toBe('not_found');
        expect((await refusal(client.runs.decide(newId(), 'nobody', approve))).code).toBe('not_found');
        const wrong = await refusal(
          client.runs.decide(requestId, calls[0] ?? '', { decision: 'maybe' } as never),
        );
        expect(wrong).toMatchObject({ code: 'invalid_body', errors: [{ path: 'decision' }] });
        await letGo(requestId, calls);
      });
    });

    test('agents are listed by name', async () => {
      const listing = await client.agents();
      expect(agentListingSchema.parse(listing)).toEqual(listing);
      expect(listing.agents).toEqual([
        expect.objectContaining({ name: 'careful', model: 'mock:m', tools: ['peer.*'], strategy: 'react' }),
        expect.objectContaining({ name: 'talker', description: 'Talks', model: 'fast', tools: [] }),
      ]);
    });
  });
}
