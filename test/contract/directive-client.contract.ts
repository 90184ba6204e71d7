/** What every transport of the directive client promises: one suite, run for each.
 *  It must never use anything that only one transport can know. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cancellationSchema } from '../../src/contract/directive/cancellation.ts';
import {
  type DeadLetter,
  type DeadLetterPage,
  deadLetterGroupsSchema,
  deadLetterPageSchema,
  redriveSchema,
} from '../../src/contract/directive/dead-letter.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { budgetListingSchema } from '../../src/contract/model/budget-listing.ts';
import { laneListingSchema } from '../../src/contract/request/lane-listing.ts';
import { requestTraceSchema } from '../../src/contract/request/request-trace.ts';
import { signalSchema } from '../../src/contract/signal/signal.ts';
import { workerListingSchema } from '../../src/contract/request/worker-listing.ts';
import { toolListingSchema } from '../../src/contract/tool/tool-listing.ts';
import { untilHolds } from '../support/eventually.ts';
import { all, newId, refusal, sequences, tracesOf, type TransportSetup } from './client-reading.ts';

type ToolExec = Extract<SubmittedDirective, { type: 'tool_exec' }>;

function toolExec(tool: string, args: Record<string, unknown> = {}, more: Partial<ToolExec> = {}): ToolExec {
  return { type: 'tool_exec', tool_name: `peer.${tool}`, arguments: args, effect: 'read', ...more };
}

function toolError(more: { request_id?: string; id?: string } = {}): SubmittedDirective {
  return { type: 'emit_tool_error', tool_name: 'peer.echo', error: 'it went wrong', ...more };
}

/** Of a service with a worker and the MCP server `peer`. */
export function directiveClientContract(transport: string, setup: () => Promise<TransportSetup>): void {
  describe(`the ${transport} client`, () => {
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

    describe('submit', () => {
      test('takes half a surrogate pair as U+FFFD', async () => {
        const directive = toolExec(
          'echo',
          { text: 'a\ud83d', ['\ude00']: ['\ud83d\ude00'] },
          { id: newId() },
        );
        const { request_id } = await client.submit(directive);
        const signals = await all(client.signals(request_id));
        const started = signals.find(({ type }) => type === 'ai.tool.result');
        expect(JSON.stringify(started)).not.toMatch(/\\ud/);
      });

      test('names each place of a batch that is wrong', async () => {
        const wrong = { ...toolExec('echo'), timeout_ms: -1, colour: 'red' } as SubmittedDirective;
        const problem = await refusal(client.submit([toolExec('echo'), wrong]));
        expect(problem).toMatchObject({ code: 'invalid_body', status: 400 });
        expect(problem.errors?.map(({ path }) => path).toSorted()).toEqual([
          'directives[1].colour',
          'directives[1].timeout_ms',
        ]);
      });

      test('carries the trace it was given into every signal', async () => {
        const trace = '0af7651916cd43dd8448eb211c80319c';
        const { request_id: requestId } = await client.submit(toolExec('echo'), {
          traceparent: `00-${trace}-b7ad6b7169203331-01`,
        });
        expect(await tracesOf(client.signals(requestId))).toEqual(new Set([trace]));
      });
    });

    describe('execute', () => {
      test('ends an immediate directive with its own signal', async () => {
        const ended = await client.execute({
          type: 'emit_request_error',
          reason: 'busy',
          message: 'come back',
        });
        expect(ended).toMatchObject({
          type: 'ai.request.error',
          data: { reason: 'busy', message: 'come back' },
        });
        // Compiles because the type of the signal follows from that of the directive.
        expect(ended.data.reason).toBe('busy');
      });
    });

    describe('result', () => {
      test('ends with the abort of its signal', async () => {
        const { request_id: requestId, directives } = await client.submit(toolExec('wait'));
        const abort = new AbortController();
        const waiting = client.result(requestId, directives[0]?.id ?? '', { signal: abort.signal });
        abort.abort();
        await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
      });
    });

    describe('signals', () => {
      test('are dense from the first to the last, and end when the request is closed', async () => {
        const { request_id: requestId } = await client.submit(toolExec('flood', { notes: 20 }));
        const signals = await all(client.signals(requestId));
        expect(sequences(signals)).toEqual(signals.map((_, index) => index + 1));
        expect(signals[0]?.type).toBe('ai.tool.started');
        expect(signals.at(-1)?.type).toBe('ai.tool.result');
        for (const signal of signals) expect(signalSchema.parse(signal)).toEqual(signal);
      });

      test('are the same for every follower', async () => {
        const { request_id: requestId } = await client.submit(toolExec('beat', { beats: 5, everyMs: 5 }));
        const [one, two] = await Promise.all([
          all(client.signals(requestId)),
          all(client.signals(requestId)),
        ]);
        expect(one).toEqual(two);
      });

      test('end at the last written signal, without following', async () => {
        const requestId = newId();
        await client.submit(toolExec('wait', {}, { request_id: requestId }));
        await client.submit([toolError({ request_id: requestId }), toolError({ request_id: requestId })]);
        const signals = await all(client.signals(requestId, { follow: false }));
        expect(signals.filter(({ type }) => type === 'ai.tool.result')).toHaveLength(2);
      });

      test('arrive while the request is open', async () => {
        const requestId = newId();
        await client.submit(toolExec('wait', {}, { request_id: requestId }));
        const types: string[] = [];
        for await (const { type } of client.signals(requestId)) {
          types.push(type);
          if (type === 'ai.tool.started') await client.submit(toolError({ request_id: requestId }));
          else break;
        }
        expect(types).toEqual(['ai.tool.started', 'ai.tool.result']);
      });

      test('end quietly when they are aborted', async () => {
        const { request_id: requestId } = await client.submit(toolExec('wait'));
        const abort = new AbortController();
        const seen: string[] = [];
        for await (const { type } of client.signals(requestId, { signal: abort.signal })) {
          seen.push(type);
          abort.abort();
        }
        expect(seen).toEqual(['ai.tool.started']);
      });

      test('of an unknown request are refused', async () => {
        expect((await refusal(all(client.signals(newId())))).code).toBe('not_found');
        expect((await refusal(all(client.signals(newId(), { follow: false })))).code).toBe('not_found');
      });
    });

    describe('cancel', () => {
      async function running(): Promise<{ requestId: string; id: string }> {
        const { request_id: requestId, directives } = await client.submit(toolExec('wait'));
        for await (const { type } of client.signals(requestId)) if (type === 'ai.tool.started') break;
        return { requestId, id: directives[0]?.id ?? '' };
      }

      test('aborts a running directive, which ends with the reason', async () => {
        const { requestId, id } = await running();
        const cancellation = await client.cancel(requestId, id, { reason: 'changed my mind' });
        expect(cancellationSchema.parse(cancellation)).toEqual(cancellation);
        expect(cancellation).toEqual({ request_id: requestId, directives: [{ id, status: 'requested' }] });
        const ended = await client.result(requestId, id);
        expect(ended?.data).toMatchObject({
          result: { ok: false, error: { type: 'cancelled', details: { reason: 'changed my mind' } } },
        });
      });

      test('of a request cancels all of it, and reports each', async () => {
        const { requestId, id } = await running();
        const done = newId();
        await client.submit({ ...toolError({ id: done }), request_id: requestId } as SubmittedDirective);
        const { directives } = await client.cancel(requestId);
        const statuses = Object.fromEntries(directives.map((each) => [each.id, each.status]));
        expect(statuses).toEqual({ [id]: 'requested', [done]: 'ended' });
        // Issue 33, point 4: 300 results were 65 MB of answer.
        expect(directives.filter((each) => 'result' in each)).toEqual([]);
        await all(client.signals(requestId));
        expect(await client.request(requestId)).toMatchObject({ status: 'closed', open: 0 });
      });
    });

    describe('score', () => {
      const SCORE = { score_id: 'kept', name: 'refund', value: 0.5, comment: 'no complaint' };

      test('appends a signal to a closed request, once, and leaves it closed', async () => {
        const requestId = `scored-${crypto.randomUUID()}`;
        const error = {
          type: 'emit_request_error',
          request_id: requestId,
          reason: 'x',
          message: 'x',
        } as const;
        const { sequence } = await client.execute(error);
        const score = await client.score(requestId, SCORE);
        expect(score).toEqual({ request_id: requestId, score_id: 'kept', sequence: sequence + 1 });
        expect(await client.score(requestId, SCORE)).toEqual(score);
        expect((await client.request(requestId))?.status).toBe('closed');
        const { signals } = await client.page(requestId, { after: sequence });
        expect(signals).toMatchObject([{ type: 'score.recorded', source: '/score', data: SCORE }]);
        // A reader of a closed request gets the score, and ends.
        const followed: string[] = [];
        for await (const signal of client.signals(requestId)) followed.push(signal.type);
        expect(followed.at(-1)).toBe('score.recorded');
      });

      test('refuses other content under the same id, an unknown request, and what is no score', async () => {
        const requestId = `scored-${crypto.randomUUID()}`;
        await client.execute({
          type: 'emit_request_error',
          request_id: requestId,
          reason: 'x',
          message: 'x',
        });
        await client.score(requestId, SCORE);
        const other = client.score(requestId, { ...SCORE, value: 1 });
        expect((await refusal(other)).code).toBe('id_conflict');
        expect((await refusal(client.score('nowhere', SCORE))).code).toBe('not_found');
        const nameless = client.score(requestId, { name: '__proto__ ', value: 1 });
        expect((await refusal(nameless)).code).toBe('invalid_body');
      });
    });

    describe('prioritize', () => {
      const waiting = async (flow: object): Promise<string> => {
        const directive = toolExec('echo', {}, { id: 'one', delay_ms: 3_600_000, ...flow });
        return (await client.submit(directive)).request_id;
      };

      test('changes the priority of what waits, and the same again is the same', async () => {
        const requestId = await waiting({ priority: 1, concurrency: { key: 'account', limit: 2 } });
        for (const _ of [1, 2]) {
          const changed = await client.prioritize(requestId, 'one', 9);
          expect(changed).toEqual({ request_id: requestId, id: 'one', priority: 9 });
        }
        expect(await client.directive(requestId, 'one')).toMatchObject({
          priority: 9,
          limits: ['account, 2 at once'],
          directive: { priority: 1 },
        });
      });

      test('of what takes no turn, has ended, or does not exist is refused', async () => {
        const plain = await waiting({});
        expect((await refusal(client.prioritize(plain, 'one', 9))).code).toBe('not_waiting');
        expect(await client.directive(plain, 'one')).not.toHaveProperty('priority');
        const ended = await waiting({ priority: 1 });
        await client.cancel(ended);
        expect((await refusal(client.prioritize(ended, 'one', 9))).detail).toContain('it has ended');
        expect((await refusal(client.prioritize(ended, newId(), 9))).code).toBe('not_found');
        expect((await refusal(client.prioritize(ended, 'one', 10))).code).toBe('invalid_body');
      });
    });

    describe('dead letters', () => {
      /** Of one request, in which both calls have failed. */
      async function failures(): Promise<string> {
        const requestId = newId();
        await client.submit(['x', 'y'].map((id) => toolExec('fail', {}, { id, request_id: requestId })));
        await all(client.signals(requestId));
        await untilHolds(async () => expect(await lettersOf(requestId)).toHaveLength(2));
        return requestId;
      }

      async function lettersOf(requestId: string): Promise<DeadLetter[]> {
        const found: DeadLetter[] = [];
        for (let after: string | null | undefined; after !== null;) {
          const page: DeadLetterPage = await client.deadLetters({
            lane: 'tool.peer',
            error_type: 'tool_error',
            ...(after === undefined ? {} : { after }),
            limit: 1,
          });
          expect(deadLetterPageSchema.parse(page)).toEqual(page);
          expect(page.dead_letters.length).toBeLessThanOrEqual(1);
          found.push(...page.dead_letters.filter(({ request_id }) => request_id === requestId));
          after = page.next;
        }
        return found;
      }

      test('hold failed directives, page by page, and only those that match', async () => {
        const requestId = await failures();
        const letters = await lettersOf(requestId);
        expect(letters.map(({ id }) => id).toSorted()).toEqual(['x', 'y']);
        expect(letters[0]).toMatchObject({
          lane: 'tool.peer',
          name: 'peer.fail',
          error: { type: 'tool_error' },
          attempts: 1,
        });
        const counted = await client.deadLetterGroups();
        expect(deadLetterGroupsSchema.parse(counted)).toEqual(counted);
        const { count = 0 } =
          counted.groups.find(
            ({ lane, error_type }) => lane === 'tool.peer' && error_type === 'tool_error',
          ) ?? {};
        expect(count).toBeGreaterThanOrEqual(2);
        const others = await client.deadLetters({ lane: 'tool.nobody' });
        expect(others).toMatchObject({ dead_letters: [], next: null });
      });

      test('are redriven by name into new directives, which run', async () => {
        const requestId = await failures();
        const from = { request_id: requestId, id: 'x' };
        const nobody = { request_id: requestId, id: 'nobody' };
        const redrive = await client.redrive({ directives: [from, nobody] });
        expect(redriveSchema.parse(redrive)).toEqual(redrive);
        const to = { request_id: requestId, id: 'x.redrive-1' };
        expect(redrive).toMatchObject({ redriven: [{ from, to }], not_found: [nobody] });
        const ended = await client.result(requestId, to.id);
        expect(ended?.data).toMatchObject({ result: { ok: false, error: { type: 'tool_error' } } });
        const view = await client.directive(requestId, to.id);
        expect(view?.directive.metadata).toMatchObject({ redrive_of: from });
      });

      test('are redriven by filter up to a limit, and all of them only on explicit request', async () => {
        await failures();
        const { redriven, left } = await client.redrive({ error_type: 'tool_error', limit: 1 });
        expect(redriven).toHaveLength(1);
        expect(left).toBeGreaterThanOrEqual(1);
        expect((await refusal(client.redrive({}))).errors?.[0]?.path).toBe('directives');
        expect((await client.redrive({ all: true, limit: 1_000 })).left).toBe(0);
      });

      test('refuse a contradictory redrive', async () => {
        const directives = [{ request_id: 'r', id: 'a' }];
        const problem = await refusal(client.redrive({ directives, lane: 'tool.peer' }));
        expect(problem).toMatchObject({ code: 'invalid_body', errors: [{ path: 'directives' }] });
        const badId = await refusal(client.redrive({ directives: [{ request_id: 'r', id: 'a b' }] }));
        expect(badId.errors?.[0]?.path).toBe('directives[0].id');
      });
    });

    describe('reading', () => {
      test('shows when a request, its directives and their attempts began and ended', async () => {
        const { request_id: requestId, directives } = await client.submit([toolError(), toolExec('echo')]);
        await client.result(requestId, directives[1]?.id ?? '');
        const trace = await client.trace(requestId);
        expect(requestTraceSchema.parse(trace)).toEqual(trace);
        expect(trace).toMatchObject({
          status: 'closed',
          directives: [
            { name: 'peer.echo', status: 'succeeded', error: null, attempts: [] },
            { name: 'peer.echo', error: null, attempts: [{ attempt: 1, outcome: 'succeeded' }] },
          ],
        });
        const one = await client.trace(requestId, { limit: 1 });
        expect(one).toMatchObject({ directives: [trace.directives[0]], directives_left_out: 1 });
        expect((await refusal(client.trace(newId()))).code).toBe('not_found');
      });

      test('lists tools, servers and lanes', async () => {
        await client.execute(toolExec('echo'));
        const listing = await client.tools();
        expect(toolListingSchema.parse(listing)).toEqual(listing);
        expect(listing.tools).toContainEqual(
          expect.objectContaining({ name: 'peer.echo', server: 'peer', effect: 'read' }),
        );
        expect(listing.servers).toMatchObject([{ name: 'peer', status: 'ready' }]);
        const lanes = await client.lanes();
        expect(laneListingSchema.parse(lanes)).toEqual(lanes);
        const paused = new Map(lanes.lanes.map((lane) => [lane.name, lane.paused]));
        expect([paused.get('tool.peer'), paused.get('run')]).toEqual([false, false]);
        // Its worker says so with its next beat.
        const recent = async () =>
          (await client.lanes()).lanes.find(({ name }) => name === 'tool.peer')?.recent?.attempts;
        await untilHolds(async () => expect(await recent()).toBeGreaterThan(0));
      });

      test('lists the budgets of today', async () => {
        const listing = await client.budgets();
        expect(budgetListingSchema.parse(listing)).toEqual(listing);
        expect(listing).toMatchObject({ currency: 'USD', time_zone: 'UTC', budgets: [] });
        expect(Date.parse(listing.resets_at)).toBeGreaterThan(Date.parse(listing.day));
      });

      test('lists the processes, drains one and lets it work again', async () => {
        const listing = await client.workers();
        expect(workerListingSchema.parse(listing)).toEqual(listing);
        const [worker] = listing.workers;
        expect(worker).toMatchObject({ state: 'working', pid: process.pid });
        expect(worker?.lanes?.map(({ name }) => name)).toEqual(expect.arrayContaining(['tool.peer', 'run']));
        const id = worker?.id ?? '';
        const state = async () => (await client.workers()).workers.find((each) => each.id === id)?.state;
        expect(await client.drainWorker(id)).toEqual({ id, drain: true });
        // `drained` as soon as the calls that other tests left under way have ended.
        await untilHolds(async () => expect(await state()).toMatch(/^drain(ing|ed)$/));
        expect(await client.drainWorker(id, false)).toEqual({ id, drain: false });
        await untilHolds(async () => expect(await state()).toBe('working'));
        const ended = await client.execute(toolExec('echo'));
        expect(ended.data).toMatchObject({ result: { ok: true } });
        const unknown = client.drainWorker('nobody');
        await expect(unknown).rejects.toMatchObject({ problem: { code: 'not_found' } });
      });
    });
  });
}
