/** A reader of signals that is cut off, and comes back with Last-Event-ID: nothing is missing, nothing comes twice.
 *  It must not use a client that reconnects by itself. */
import { beforeAll, expect, test } from 'vitest';
import type { SignalPage } from '../../src/contract/signal/signal-page.ts';
import type { Submission } from '../../src/contract/directive/submission.ts';
import { auditRequest } from '../support/audit.ts';
import { countingCall, countingCalls } from '../support/calls.ts';
import { type AdjutantProcess, install } from '../support/installation.ts';
import { type Frame, frames, get, post } from '../support/public-api.ts';
import { shared } from '../support/shared.ts';

const installation = shared(async () => install({ server: { lane: { concurrency: 4 } } }));
let first: AdjutantProcess;
let second: AdjutantProcess;

beforeAll(async () => {
  [first, second] = await Promise.all([installation.start('up'), installation.start('up')]);
});

/** Lengths of connections in turn: from less than the first frame to several frames, the last one incomplete. */
const CUTS = [1, 900, 2_500, 7_001];

/** The signals of all connections together, and the log as a page. */
async function expectWholeLog(url: string, request: string, read: readonly Frame[]): Promise<void> {
  const { body } = await get<SignalPage>(`${url}/v1/requests/${request}/signals?limit=1000`);
  const [end, ...signals] = read.toReversed();
  expect(end).toMatchObject({ event: 'adjutant.end', data: `{"last_sequence":${signals.length}}` });
  signals.reverse();
  expect(signals.map(({ id }) => id)).toEqual(signals.map((_, index) => String(index + 1)));
  expect(signals.map(({ data }) => JSON.parse(data) as unknown)).toEqual(body.signals);
}

test('a stream cut at any byte while calls run is resumed without a gap and without a repeat', async () => {
  const { url } = second;
  const request = 'cut-off';
  // Long enough that some are under way at each of the first cuts, on a busy machine too.
  const calls = countingCalls(['read', 'once'], 40, { requestId: request, delayMs: 80 });
  expect((await post<Submission>(`${url}/v1/directives`, { directives: calls })).status).toBe(202);

  const read: Frame[] = [];
  let connections = 0;
  let connectionsWhileOpen = 0;
  while (read.at(-1)?.event !== 'adjutant.end' && connections < 500) {
    const cutAfterBytes = CUTS[connections % CUTS.length] ?? 0;
    const after = read.at(-1)?.id;
    for await (const frame of frames(url, request, {
      cutAfterBytes,
      ...(after === undefined ? {} : { after }),
    }))
      read.push(frame);
    connections += 1;
    const { body } = await get<{ status: string }>(`${url}/v1/requests/${request}`);
    if (body.status === 'open') connectionsWhileOpen += 1;
  }

  expect(connections).toBeGreaterThan(20);
  expect(connectionsWhileOpen, 'cut while calls run').toBeGreaterThan(3);
  await expectWholeLog(url, request, read);
  await auditRequest(
    url,
    request,
    calls.map(({ id }) => id),
  );
});

test('a stream cut by the death of its service is resumed at another one', async () => {
  const request = 'moved';
  const calls = countingCalls(['read'], 60, { requestId: request, delayMs: 50 });
  // It ends when it is cancelled: the stream has no end before its service dies.
  const held = countingCall('read', 60, { requestId: request, fields: { delay_ms: 3_600_000 } });
  calls.push(held);
  expect((await post<Submission>(`${first.url}/v1/directives`, { directives: calls })).status).toBe(202);

  const read: Frame[] = [];
  for await (const frame of frames(first.url, request)) {
    read.push(frame);
    if (read.length === 40) void first.kill9();
  }
  await first.exited;
  const cutAt = read.length;
  expect(read.map(({ event }) => event)).not.toContain('adjutant.end');
  await post(`${second.url}/v1/requests/${request}/directives/${held.id}/cancel`, {});
  for await (const frame of frames(second.url, request, { after: read.at(-1)?.id ?? '' })) read.push(frame);

  expect(read.length).toBeGreaterThan(cutAt);
  await expectWholeLog(second.url, request, read);
  await auditRequest(
    second.url,
    request,
    calls.map(({ id }) => id),
  );
});
