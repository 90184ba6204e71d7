/** What both clients promise of the list of requests: one suite, run for each.
 *  It must not depend on what other suites have put into the list: each test has tags of its own. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { approvalListingSchema } from '../../src/contract/run/approval-listing.ts';
import {
  type BulkCancelBody,
  bulkCancellationSchema,
  type BulkRedriveBody,
  bulkRedriveSchema,
} from '../../src/contract/directive/bulk.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import {
  type RequestListing,
  requestListingSchema,
  type RequestQuery,
} from '../../src/contract/request/request-listing.ts';
import { eventually } from '../support/eventually.ts';
import { newId, refusal, type TransportSetup } from './client-reading.ts';

/** Names that mean something in JavaScript, a key, a pattern or a URL. */
const HOSTILE = [
  '__proto__',
  'constructor',
  'a|b',
  'a}b',
  '{a}',
  '*',
  'f:s:open',
  '%2F',
  '../..',
  '\u{1f4a9}',
  'a b',
];

export function requestListContract(transport: string, setup: () => Promise<TransportSetup>): void {
  describe(`the ${transport} client lists requests`, () => {
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

    /** Ends at once: nobody serves such a tool. */
    async function failing(tags: readonly string[], more: { request_id?: string; tool?: string } = {}) {
      const { tool = 'absent.tool', request_id = newId() } = more;
      const call = { type: 'tool_exec' as const, tool_name: tool, max_retries: 0, request_id };
      await client.submit({ ...call, metadata: { tags: [...tags] } });
      return request_id;
    }

    async function ids(query: RequestQuery): Promise<string[]> {
      return (await client.requests(query)).requests.map(({ request_id }) => request_id);
    }

    /** Every page of the query. */
    async function pages(query: RequestQuery): Promise<RequestListing[]> {
      const all: RequestListing[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await client.requests({ ...query, cursor });
        all.push(page);
        if (page.next === null) return all;
        cursor = page.next;
      }
    }

    test('with what is known of each, newest first', async () => {
      const tag = newId();
      const first = await failing([tag, 'nightly']);
      const { request_id: second } = await client.submit({
        type: 'tool_exec',
        tool_name: 'peer.echo',
        arguments: {},
        metadata: { tags: [tag] },
      });
      await eventually(async () =>
        (await client.requests({ tag })).requests.map(({ request_id, status }) => [request_id, status]),
      ).toEqual([
        [second, 'succeeded'],
        [first, 'failed'],
      ]);
      const listing = await client.requests({ tag });
      expect(requestListingSchema.parse(listing)).toEqual(listing);
      expect(listing.requests[1]).toMatchObject({
        tools: ['absent.tool'],
        error_types: ['unknown_tool'],
        tags: [tag, 'nightly'],
        types: ['tool_exec'],
        directives: 1,
        open: 0,
        agent: null,
        waiting_for: [],
      });
      expect(listing.counts.status.failed).toBeGreaterThan(0);
      expect(listing.counts.error_types).toContainEqual({
        type: 'unknown_tool',
        requests: expect.any(Number),
      });
    });

    test('that fit all filters', async () => {
      const tag = newId();
      const unknown = await failing([tag]);
      const odd = await failing([tag, 'blue'], { tool: 'peer.fail' });
      await eventually(() => ids({ tag, status: 'failed' })).toHaveLength(2);
      expect(await ids({ tag, tool: 'peer.fail' })).toEqual([odd]);
      expect(await ids({ tag, error_type: 'unknown_tool', status: 'failed' })).toEqual([unknown]);
      expect(await ids({ tag, error_type: 'unknown_tool', tool: 'peer.fail' })).toEqual([]);
      expect(await ids({ tag, status: 'succeeded' })).toEqual([]);
      expect(await ids({ tag, q: odd.slice(0, 20) })).toEqual([odd]);
      expect(await ids({ tag, q: 'BLUE fail' })).toEqual([odd]);
      expect(await ids({ tag, q: 'red' })).toEqual([]);
      const [listed] = (await client.requests({ tag, q: 'blue' })).requests;
      expect(await ids({ tag, since: listed?.created_at, q: 'blue' })).toEqual([odd]);
      expect(await ids({ tag, until: listed?.created_at, q: 'blue' })).toEqual([]);
    });

    test('a call by the bare name of its tool as server.tool, also in its trace and among the dead letters', async () => {
      const tag = newId();
      const call = { type: 'tool_exec', tool_name: 'fail', server: 'peer', max_retries: 0 } as const;
      const { request_id } = await client.submit({ ...call, metadata: { tags: [tag] } });
      await eventually(() => ids({ tag, tool: 'peer.fail', status: 'failed' })).toEqual([request_id]);
      expect((await client.requests({ tag })).requests[0]?.tools).toEqual(['peer.fail']);
      expect((await client.trace(request_id)).directives[0]?.name).toBe('peer.fail');
      const letters = async () => (await client.deadLetters({ limit: 1_000 })).dead_letters;
      await eventually(async () =>
        (await letters()).filter((letter) => letter.request_id === request_id).map(({ name }) => name),
      ).toEqual(['peer.fail']);
    });

    test('page by page, each once, while others arrive', async () => {
      const tag = newId();
      const made: string[] = [];
      for (let count = 0; count < 7; count += 1) made.push(await failing([tag]));
      await eventually(() => ids({ tag })).toHaveLength(7);
      const first = await client.requests({ tag, limit: 3 });
      const late = await failing([tag]);
      await eventually(() => ids({ tag })).toContain(late);
      const rest = await client.requests({ tag, limit: 3, cursor: first.next ?? '' });
      const last = await client.requests({ tag, limit: 3, cursor: rest.next ?? '' });
      const seen = [first, rest, last].flatMap(({ requests }) =>
        requests.map(({ request_id }) => request_id),
      );
      expect(seen.toSorted()).toEqual(made.toSorted());
      expect(last.next).toBeNull();
      expect((await pages({ tag, limit: 1 })).flatMap(({ requests }) => requests)).toHaveLength(8);
    });

    test('by hostile tags, whole', async () => {
      const tag = newId();
      const request = await failing([tag, ...HOSTILE]);
      await eventually(() => ids({ tag })).toEqual([request]);
      for (const hostile of HOSTILE) expect(await ids({ tag: hostile, q: request })).toEqual([request]);
      expect(await ids({ tag: '__proto', q: request })).toEqual([]);
    });

    test('again, once they are open again', async () => {
      const tag = newId();
      const request_id = await failing([tag]);
      await eventually(() => ids({ tag, status: 'failed' })).toEqual([request_id]);
      await client.submit({
        type: 'tool_exec',
        tool_name: 'peer.wait',
        request_id,
      });
      await eventually(() => ids({ tag, status: 'open' })).toEqual([request_id]);
      expect(await ids({ tag, status: 'failed' })).toEqual([]);
      await client.cancel(request_id);
      await eventually(async () => (await client.requests({ tag })).requests[0]).toMatchObject({
        status: 'failed',
        directives: 2,
        error_types: ['unknown_tool', 'cancelled'],
      });
    });

    test('with what people are asked, until it is decided', async () => {
      const tag = newId();
      await eventually(async () => (await client.tools()).tools).not.toHaveLength(0);
      const run = { agent: 'careful', query: 'work', metadata: { tags: [tag] }, conversation_id: newId() };
      const { request_id } = await client.runs.start(run);
      await eventually(() => ids({ tag, status: 'waiting', agent: 'careful' })).toEqual([request_id]);
      const [listed] = (await client.requests({ conversation: run.conversation_id })).requests;
      expect(listed).toMatchObject({ text: 'work', waiting_for: ['approval'], agent: 'careful' });
      const listing = await client.approvals();
      expect(approvalListingSchema.parse(listing)).toEqual(listing);
      const asked = listing.approvals.filter((each) => each.request_id === request_id);
      expect(asked.map(({ tool }) => tool).toSorted()).toEqual(['peer.add', 'peer.echo']);
      const adding = asked.find(({ tool }) => tool === 'peer.add');
      expect(adding).toMatchObject({ kind: 'approval', agent: 'careful', arguments: '{"a":2,"b":3}' });
      expect(Date.parse(adding?.since ?? '')).toBeLessThan(Date.parse(adding?.deadline_at ?? ''));
      for (const { call_id } of asked) await client.runs.decide(request_id, call_id, { decision: 'approve' });
      await eventually(() => ids({ tag, status: 'succeeded' })).toEqual([request_id]);
      const left = (await client.approvals()).approvals;
      expect(left.filter((each) => each.request_id === request_id)).toEqual([]);
      const [ended] = (await client.requests({ tag })).requests;
      expect(ended).toMatchObject({ tools: ['peer.add', 'peer.echo'], models: ['mock:m'], waiting_for: [] });
    });

    test('and cancels those that a filter chooses, once it was said which', async () => {
      const tag = newId();
      const made: string[] = [];
      for (const request_id of [newId(), newId(), newId()]) {
        const metadata = { tags: [tag] };
        await client.submit({ type: 'tool_exec', tool_name: 'peer.wait', request_id, metadata });
        made.unshift(request_id);
      }
      await eventually(() => ids({ tag, status: 'open' })).toHaveLength(3);
      const dry = await client.cancelAll({ filter: { tag }, dry_run: true, limit: 2 });
      expect(dry).toMatchObject({ dry_run: true, more: true });
      expect(dry.requests).toHaveLength(2);
      expect(await client.cancelAll({ filter: { tag, status: 'failed' } })).toMatchObject({ requests: [] });
      const done = await client.cancelAll({ filter: { tag }, reason: 'tidying' });
      expect(bulkCancellationSchema.parse(done)).toEqual(done);
      expect(done.requests.map(({ request_id }) => request_id).toSorted()).toEqual(made.toSorted());
      await eventually(() => ids({ tag, status: 'cancelled' })).toHaveLength(3);
      expect(await client.cancelAll({ filter: { tag } })).toMatchObject({ requests: [], more: false });
    });

    test('and redrives what failed in those that a filter chooses', async () => {
      const tag = newId();
      const request_id = await failing([tag], { tool: 'peer.fail' });
      await eventually(() => ids({ tag, status: 'failed' })).toEqual([request_id]);
      const look = async () => client.redriveAll({ filter: { tag }, dry_run: true });
      await eventually(async () => (await look()).found).toHaveLength(1);
      const dry = await look();
      expect(dry).toMatchObject({ found: [{ request_id }], redriven: [], more: false, next: null });
      const done = await client.redriveAll({ filter: { tag } });
      expect(bulkRedriveSchema.parse(done)).toEqual(done);
      expect(done.redriven).toMatchObject([{ from: dry.found[0], to: { request_id } }]);
      await eventually(async () => (await client.requests({ tag })).requests[0]).toMatchObject({
        directives: 2,
        open: 0,
      });
      // The first is no dead letter any more.
      await eventually(async () => (await look()).found).toEqual([done.redriven[0]?.to]);
    });

    test('a part at a time, where a repeat goes on', async () => {
      const tag = newId();
      for (let count = 0; count < 3; count += 1) await failing([tag], { tool: 'peer.fail' });
      const filter = { tag };
      await eventually(async () => (await client.redriveAll({ filter, dry_run: true })).found).toHaveLength(
        3,
      );
      const { found: all } = await client.redriveAll({ filter, dry_run: true });
      const first = await client.redriveAll({ filter, dry_run: true, limit: 2 });
      expect(first).toMatchObject({ found: all.slice(0, 2), more: true, next: expect.any(String) });
      const cursor = first.next ?? '';
      const second = await client.redriveAll({ filter, dry_run: true, limit: 2, cursor });
      expect(second).toMatchObject({ found: all.slice(2), more: false, next: null });
      expect((await client.redriveAll({ filter, cursor })).redriven).toMatchObject([{ from: all[2] }]);
      for (const wrong of [`open/${cursor.split('/')[1]}`, cursor.slice(1), 'failed/x'])
        expect(await refusal(client.redriveAll({ filter, cursor: wrong }))).toMatchObject({
          code: 'invalid_body',
        });
    });

    test('but acts on all of them only where that is said', async () => {
      const nothing: unknown[] = [
        {},
        { filter: {} },
        { all: false },
        { filter: { colour: 'red' } },
        { all: true, limit: 0 },
      ];
      for (const body of nothing) {
        expect(await refusal(client.cancelAll(body as BulkCancelBody))).toMatchObject({
          code: 'invalid_body',
        });
        expect(await refusal(client.redriveAll(body as BulkRedriveBody))).toMatchObject({
          code: 'invalid_body',
        });
      }
    });

    test('and builds the list anew, the same as before', async () => {
      const tag = newId();
      await failing([tag]);
      await failing([tag, 'second'], { tool: 'peer.fail' });
      await eventually(() => ids({ tag, status: 'failed' })).toHaveLength(2);
      // What other tests have left open must not end between the two counts.
      await client.cancelAll({ all: true, limit: 1_000 });
      await eventually(async () => (await client.requests({ tag })).counts.status).toMatchObject({
        open: 0,
        waiting: 0,
      });
      const { requests, counts } = await client.requests({ tag });
      for (let cursor: string | undefined; ;) {
        const { next } = await client.reindex({ cursor });
        if (next === null) break;
        cursor = next;
      }
      const beyond = { cursor: '0:99999999999999999999' };
      expect(await refusal(client.reindex(beyond))).toMatchObject({ code: 'invalid_query' });
      await eventually(async () => (await client.requests({ tag })).requests).toEqual(requests);
      await eventually(async () => (await client.requests({ tag })).counts).toEqual(counts);
    });

    test('and refuses what no filter, cursor or tag is', async () => {
      const wrong: unknown[] = [
        { status: 'done' },
        { colour: 'red' },
        { cursor: 'x' },
        { limit: 0 },
        { limit: 201 },
        { since: 'yesterday' },
        { q: '' },
        { tag: 'x'.repeat(65) },
      ];
      for (const query of wrong)
        expect(await refusal(client.requests(query as RequestQuery))).toMatchObject({
          code: 'invalid_query',
        });
      const tags: unknown[] = [
        'one',
        [1],
        [''],
        ['x'.repeat(65)],
        ['a\u0000b'],
        ['a\nb'],
        Array(17).fill('x'),
      ];
      for (const each of tags) {
        const metadata = { tags: each };
        const directive = { type: 'emit_tool_error' as const, tool_name: 'x', error: 'x', metadata };
        expect(await refusal(client.submit(directive))).toMatchObject({
          code: 'invalid_body',
          errors: [{ path: expect.stringMatching(/^metadata\.tags/) }],
        });
      }
    });
  });
}
