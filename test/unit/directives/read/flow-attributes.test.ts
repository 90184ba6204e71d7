/** What the span of a directive says of when, how urgently and how often it runs.
 *  It must show no key of a caller where spans show no content. */
import { expect, test } from 'vitest';
import type { Directive } from '../../../../src/contract/directive/directive.ts';
import { flowAttributes } from '../../../../src/directives/read/flow-attributes.ts';

const CALL = { type: 'tool_exec', request_id: 'r', id: 'd', tool_name: 'a.b', arguments: {} };
const directive = (more: object): Directive => ({ ...CALL, ...more }) as unknown as Directive;

const said = (more: object, bytes = 0, ticket: object | null = null): object => {
  const attributes = flowAttributes(directive(more), ticket as never, { bytes });
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
};

const KEYED = {
  fairness_key: 'Ada Lovelace',
  concurrency: { key: 'Ada Lovelace', limit: 2 },
  rate: { key: 'Ada Lovelace', max: 5, per_ms: 1_000 },
};

test('nothing is said of a directive that orders nothing, nor of a type of a user', () => {
  expect(said({})).toEqual({});
  expect(said({ type: 'mine', delay_ms: 1, ...KEYED })).toEqual({});
});

test.each([
  [
    { delay_ms: 5, start_by_ms: 6 },
    { 'adjutant.delay_ms': 5, 'adjutant.start_by_ms': 6 },
  ],
  [{ run_at: '2027-01-01T00:00:00Z' }, { 'adjutant.run_at': '2027-01-01T00:00:00Z' }],
  [
    { dedupe: { key: 'Ada Lovelace', window_ms: 7 } },
    { 'adjutant.once': 'dedupe', 'adjutant.once.window_ms': 7 },
  ],
  [
    { debounce: { key: 'Ada Lovelace', quiet_ms: 7, at_most_ms: 8 } },
    { 'adjutant.once': 'debounce', 'adjutant.once.quiet_ms': 7, 'adjutant.once.at_most_ms': 8 },
  ],
  [
    { singleton: { key: 'Ada Lovelace', when_open: 'replace' } },
    { 'adjutant.once': 'singleton', 'adjutant.once.when_open': 'replace' },
  ],
  [
    { on_end: ['mine', { url: 'https://hooks.example/secret-path' }] },
    { 'adjutant.on_end': ['mine', 'url'] },
  ],
  [
    { arguments: { $encrypted: { codec: 'A256GCM', key_id: 'k1', data: 'AAAA', digest: 'A'.repeat(22) } } },
    { 'adjutant.encryption.fields': ['arguments'], 'adjutant.encryption.key_id': 'k1' },
  ],
  [KEYED, { 'adjutant.concurrency.limit': 2, 'adjutant.rate.max': 5, 'adjutant.rate.per_ms': 1_000 }],
])('%o', (more, attributes) => {
  expect(said(more)).toEqual(attributes);
  expect(JSON.stringify(said(more))).not.toMatch(/Ada|secret/);
});

test('what rules of the configuration add counts: the priority that holds, and how many limits', () => {
  const ticket = { turn: 't', weight: 1, priority: 0, fixed_by: 'nightly', limits: [{}, {}] };
  expect(said({ priority: 9 }, 0, ticket)).toEqual({
    'adjutant.priority': 0,
    'adjutant.priority.fixed_by': 'nightly',
    'adjutant.limits': 2,
  });
});

test('keys are shown where content is, cut as it is', () => {
  expect(said(KEYED, 3)).toMatchObject({
    'adjutant.fairness_key': 'Ada',
    'adjutant.concurrency.key': 'Ada',
    'adjutant.rate.key': 'Ada',
  });
});
