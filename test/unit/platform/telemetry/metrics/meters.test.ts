/** What facts become measurements, and that no value of a caller becomes a label.
 *  It must not aggregate anything. */
import { expect, test } from 'vitest';
import { errorEnvelope } from '../../../../../src/contract/error-envelope.ts';
import { beginAtZero, createMeters } from '../../../../../src/platform/telemetry/metrics/meters.ts';
import { createReports } from '../../../../../src/platform/telemetry/reports.ts';

function measured(newNames: string[] = []) {
  const all: [metric: string, value: number, labels: object][] = [];
  const failed: string[] = [];
  const meters = createMeters((...measurement) => void all.push(measurement), {
    agents: ['helper'],
    models: ['play:m'],
    newNames,
  });
  const reports = createReports(meters, { failed: ({ id }) => void failed.push(id) }, () => {});
  return { all, failed, meters, reports };
}

const directive = {
  requestId: 'r',
  id: 'd',
  directive: { type: 'tool_exec' },
  lane: 'tool.peer',
  traceparent: '',
  durationMs: 1_500,
};

test('what alerts watch begins at zero: of each lane that is served, and of each type', () => {
  const all: unknown[] = [];
  beginAtZero((...measurement) => void all.push(measurement), { types: ['tool_exec'] });
  expect(all).toEqual([
    ['outcomeUnknown', 0, { type: 'tool_exec' }],
    ['sweeperEnqueues', 0, {}],
    ['sweeperEnds', 0, {}],
  ]);
  const { all: measurements, meters } = measured();
  meters.served('tool.peer');
  expect(measurements).toEqual([['redeliveries', 0, { lane: 'tool.peer' }]]);
});

test('a claim is its wait, and a redelivery when its last worker was lost', () => {
  const { all, meters } = measured();
  meters.claimed('tool.peer', 250, false);
  meters.claimed('tool.peer', -3, true);
  expect(all).toEqual([
    ['laneWait', 0.25, { lane: 'tool.peer' }],
    ['laneWait', 0, { lane: 'tool.peer' }],
    ['redeliveries', 1, { lane: 'tool.peer' }],
  ]);
});

test('an end is a result and a duration; a failure is a line, too', () => {
  const { all, failed, reports } = measured();
  reports.ended({ ...directive, error: null });
  reports.ended({ ...directive, error: errorEnvelope('cancelled', 'no longer wanted'), durationMs: null });
  expect(all).toEqual([
    ['results', 1, { type: 'tool_exec', outcome: 'succeeded' }],
    ['directiveDuration', 1.5, { type: 'tool_exec', outcome: 'succeeded' }],
    ['results', 1, { type: 'tool_exec', outcome: 'cancelled', 'error.type': 'cancelled' }],
  ]);
  expect(failed).toEqual(['d']);
});

test.each([
  ['by its type', errorEnvelope('outcome_unknown', 'the worker died')],
  ['by its details', errorEnvelope('deadline_exceeded', 'too late', { outcome: 'unknown' })],
])('a call that may have happened is counted, %s', (_how, error) => {
  const { all, reports } = measured();
  reports.ended({ ...directive, error });
  expect(all).toContainEqual(['outcomeUnknown', 1, { type: 'tool_exec' }]);
});

test('errors that tools make up, agents and routes that nobody knows share one label', () => {
  const { all, meters } = measured();
  for (let nth = 0; nth < 1_000; nth += 1) {
    meters.attempted({ lane: 'l', outcome: 'end', errorType: `made_up_${nth}`, durationMs: 1 });
    meters.runStarted(`agent-${nth}`);
    meters.answered({ method: `M${nth}`, route: null, status: 404, durationMs: 1 });
  }
  expect(new Set(all.map(([metric, , labels]) => JSON.stringify([metric, labels]))).size).toBe(4);
});

test('configured models keep their names, and callers add at most fifty', () => {
  const { all, meters } = measured();
  const call = (model: string): void =>
    meters.modelCalled({
      operation: 'chat',
      call: { operation: 'generate_text', origin: 'action' },
      provider: 'play',
      model,
      errorType: null,
      durationMs: 1,
      firstChunkMs: null,
      tokens: null,
      cost: null,
    });
  for (let nth = 0; nth < 1_000; nth += 1) call(`model-${nth}`);
  call('m');
  const names = new Set(
    all.map(([, , labels]) => (labels as Record<string, string>)['gen_ai.request.model']),
  );
  expect(names.size).toBe(52);
  expect(names).toContain('m');
  expect(names).toContain('_OTHER');
  expect(all[0]?.[2]).toMatchObject({ operation: 'generate_text', origin: 'action' });
});

test('what no collector gets is counted by why', () => {
  const { all, meters } = measured();
  meters.exportFailed('traces');
  meters.spansLost('export_failed', 512);
  meters.spansLost('queue_full', 1);
  expect(all).toEqual([
    ['exportFailures', 1, { signal: 'traces' }],
    ['lostSpans', 512, { reason: 'export_failed' }],
    ['lostSpans', 1, { reason: 'queue_full' }],
  ]);
});

test('the newest names are those of inference; embeddings keep theirs', () => {
  const { all, meters } = measured(['gen_ai_latest_experimental']);
  const facts = { provider: 'play', model: 'm', errorType: null, durationMs: 500, cost: null };
  meters.modelCalled({
    ...facts,
    operation: 'chat',
    call: { operation: 'stream_text', origin: 'directive' },
    firstChunkMs: 250,
    tokens: { input: 7, output: 3 },
  });
  meters.modelCalled({
    ...facts,
    operation: 'embeddings',
    call: { operation: 'embed', origin: 'directive' },
    firstChunkMs: null,
    tokens: { input: 5, output: 0 },
  });
  expect(all.map(([metric, value]) => [metric, value])).toEqual([
    ['inferenceDuration', 0.5],
    ['inferenceFirstChunk', 0.25],
    ['inferenceInputTokens', 7],
    ['inferenceOutputTokens', 3],
    ['modelDuration', 0.5],
    ['tokenUsage', 5],
  ]);
});
