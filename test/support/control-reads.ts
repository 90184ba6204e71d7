/** Answers of tools under the ids of their cases, and what is to be read in each: U01 to U30 are upstream's, D01 to D17 ours.
 *  It must not read one. */
export const envelope = (directives: unknown, result = 'r'): string =>
  JSON.stringify({ result, _directives: directives });
export const inject = (content: string, more: object = {}): object => ({
  type: 'inject_context',
  params: { content, ...more },
});
export const STOP = { type: 'stop_processing', params: {} };

/** The texts of an answer, the directives that are accepted in it, and the reasons of those that are not. */
export type Read = [id: string, texts: string[], effects: unknown[], reasons?: string[], isError?: boolean];
const kept = (id: string, given: object, params: object): Read => {
  const { type } = given as { type: string };
  return [id, [envelope([given])], [{ type, params }]];
};
const none = (id: string, ...texts: string[]): Read => [id, texts, []];
const bad = (id: string, reason: string, ...given: unknown[]): Read => [
  id,
  [envelope([...given, { type: 'stop_processing' }])],
  [STOP],
  given.map(() => reason),
];
const TIER = { tier: 'code', reason: '' };
const ALL = [
  STOP,
  { type: 'tier_change', params: TIER },
  { type: 'delegate', params: { target: 'a', task: 't' } },
  { type: 'pipeline', params: { stages: ['a', 'b'], task: 't' } },
  { type: 'complete', params: { summary: 's' } },
  { type: 'clear_self_todos', params: {} },
  { type: 'inject_context', params: { content: 'c', role: 'user' } },
  { type: 'prune_messages', params: { keep_recent: 2 } },
  { type: 'context_anchor', params: { key: 'k', content: 'c' } },
  { type: 'phase_change', params: { phase: 'p' } },
  { type: 'notify_presenter', params: { key: 'k', data: {} } },
  { type: 'todo_state_changed', params: { state: 's', count: 0, items: null } },
];
const state = (more: object): object => ({ type: 'todo_state_changed', params: { state: 's', ...more } });
export const CONTROL_READS: readonly Read[] = [
  kept('U01 U09 stop_processing', { type: 'stop_processing' }, {}),
  none('U02 D10 no _directives', '{"result":"r"}'),
  none('U03 D10 prose', 'It is done.'),
  none('U04 D10 the empty string', ''),
  none('U05 D10 a JSON array', '[{"_directives":[{"type":"stop_processing"}]}]'),
  ['U06 D10 _directives is no list', [envelope('stop_processing')], [], ['not_a_list']],
  [
    'U07 D12 three, in order',
    [envelope([{ type: 'clear_self_todos' }, ALL[1], STOP])],
    [ALL[5], ALL[1], STOP],
  ],
  bad('U08 U17 D05 an unknown type is skipped, the next is kept', 'unknown_type', { type: 'dance' }),
  kept(
    'U10 D04 tier_change with a reason',
    { type: 'tier_change', params: { tier: 'code', reason: 'r' } },
    { ...TIER, reason: 'r' },
  ),
  kept('U11 tier_change without', { type: 'tier_change', params: { tier: 'code' } }, TIER),
  kept(
    'D04 the proposal’s spelling',
    { type: 'tier_change', params: { target_tier: 'code', task_state: 'x' } },
    TIER,
  ),
  kept('U12 clear_self_todos', { type: 'clear_self_todos' }, {}),
  kept('U13 inject_context, by default of the user', inject('c'), { content: 'c', role: 'user' }),
  kept('U14 prune_messages of 5', { type: 'prune_messages', params: { keep_recent: 5 } }, { keep_recent: 5 }),
  kept('U15 prune_messages by default', { type: 'prune_messages', params: {} }, { keep_recent: 2 }),
  kept('U16 D02 todo_state_changed', state({ count: 3 }), { state: 's', count: 3, items: null }),
  kept('D03 items as a list', state({ items: [{ id: 1 }] }), { state: 's', count: 0, items: [{ id: 1 }] }),
  kept('D03 items as an object', state({ items: { a: [] } }), { state: 's', count: 0, items: { a: [] } }),
  bad(
    'U18 D06 no type, an odd one, another case',
    'unknown_type',
    {},
    { type: null },
    { type: 7 },
    { type: 'STOP' },
  ),
  bad(
    'D07 params that are no object',
    'invalid_params',
    ...[null, [], 'x'].map((params) => ({ type: 'stop_processing', params })),
  ),
  bad(
    'D08 unknown and missing params',
    'invalid_params',
    { type: 'tier_change', params: { tier: 'a', x: 1 } },
    { type: 'complete' },
  ),
  bad(
    'D09 wrong values',
    'invalid_params',
    { type: 'tier_change', params: { tier: 5 } },
    { type: 'prune_messages', params: { keep_recent: '3' } },
  ),
  bad('D11 entries that are no objects', 'unknown_type', 'stop_processing', null, 7, []),
  [
    'U26 U29 U30 P08 D01 every type, each a directive',
    [envelope([...ALL, { type: 'other' }])],
    ALL,
    ['unknown_type'],
  ],
  [
    'D13 10,000 entries',
    [envelope(Array.from({ length: 10_000 }, () => STOP))],
    Array.from({ length: 100 }, () => STOP),
    ['too_many'],
  ],
  [
    'D13 nested deeper than JSON may be',
    [envelope([STOP]).replace('{}', `{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)],
    [],
    ['invalid_params'],
  ],
  ['D15 two texts that form one object', [envelope([STOP]).slice(0, 9), envelope([STOP]).slice(9)], [STOP]],
  ['D16 an error', [envelope([STOP])], [], ['error_result'], true],
];
