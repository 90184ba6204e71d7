// The table of control directives: what is read from a tool's reply, what is rejected, what is not a directive.
// Must never expect a rejected directive to vanish without an entry.
import { describe, expect, test } from 'vitest';
import {
  ControlDirectiveError,
  deserializeDirective,
  extractDirectives,
  translateTodoStateChanged,
} from '../../src/contract/run/control-directive.ts';
import { nested } from './hostile-values.ts';

const trusted = { trust: 'all' } as const;
const stop = { type: 'stop_processing' };
const stopped = { type: 'stop_processing', params: {} };
const gap = { summary: 's', coverage_gap: true, gap_description: 'g', suggested_files: ['f'] };

/** [type, params as given, params as read] */
test.each<[string, unknown, object]>([
  ['stop_processing', undefined, {}],
  ['stop_processing', {}, {}],
  ['clear_self_todos', undefined, {}],
  ['tier_change', { tier: 'code' }, { tier: 'code', reason: '' }],
  ['tier_change', { tier: 'code', reason: 'hard' }, { tier: 'code', reason: 'hard' }],
  [
    'tier_change',
    { target_tier: 'code', reason: 'r', task_state: 'x' },
    { tier: 'code', reason: 'r', task_state: 'x' },
  ],
  ['tier_change', { target_tier: 'code', tier: 'code' }, { tier: 'code', reason: '' }],
  ['inject_context', { content: 'c' }, { content: 'c', role: 'user' }],
  ['inject_context', { content: '', role: 'system' }, { content: '', role: 'system' }],
  ['prune_messages', undefined, { keep_recent: 2 }],
  ['prune_messages', {}, { keep_recent: 2 }],
  ['prune_messages', { keep_recent: 0 }, { keep_recent: 0 }],
  ['context_anchor', { key: 'k', content: '' }, { key: 'k', content: '' }],
  ['notify_presenter', { key: 'k' }, { key: 'k', data: {} }],
  ['notify_presenter', { key: 'k', data: { a: [1] } }, { key: 'k', data: { a: [1] } }],
  ['delegate', { target: 'code', task: 't' }, { target: 'code', task: 't' }],
  ['delegate', { target: 'code', task: 't', max_turns: 3 }, { target: 'code', task: 't', max_turns: 3 }],
  ['pipeline', { stages: ['a', 'b'], task: 't' }, { stages: ['a', 'b'], task: 't' }],
  ['complete', { summary: 's' }, { summary: 's' }],
  ['complete', gap, gap],
  ['phase_change', { phase: 'verify' }, { phase: 'verify' }],
  ['todo_state_changed', { state: 's', count: 3 }, { state: 's', count: 3, items: null }],
  ['todo_state_changed', { state: 's', items: null }, { state: 's', count: 0, items: null }],
  ['todo_state_changed', { state: 's', items: [{ id: 1 }] }, { state: 's', count: 0, items: [{ id: 1 }] }],
  ['todo_state_changed', { state: 's', items: { a: [] } }, { state: 's', count: 0, items: { a: [] } }],
])('D01–D04 %s with %j', (type, given, params) => {
  const raw = given === undefined ? { type } : { type, params: given };
  expect(deserializeDirective(raw)).toStrictEqual({ type, params });
});

test('D02 todo_state_changed is translated', () => {
  const raw = { type: 'todo_state_changed', params: { state: 's', count: 3 } };
  const directive = deserializeDirective(raw);
  if (directive.type !== 'todo_state_changed') throw new Error('wrong type');
  expect(translateTodoStateChanged(directive)).toStrictEqual([
    { type: 'context_anchor', params: { key: 'todo_state', content: 's' } },
    { type: 'notify_presenter', params: { key: 'todo_update', data: { items: null, count: 3 } } },
  ]);
});

describe('D05, D06 a type that is not known', () => {
  test.each<[string, object, string | null, string]>([
    ['an unknown one', { type: 'dance' }, 'dance', "'dance'"],
    ['in the wrong case', { type: 'Stop_Processing' }, 'Stop_Processing', "'Stop_Processing'"],
    ['an inherited name', { type: 'constructor' }, 'constructor', "'constructor'"],
    ['missing', { params: {} }, null, "''"],
    ['missing with all the rest', {}, null, "''"],
    ['null', { type: null }, null, ''],
    ['a number', { type: 7 }, null, ''],
    ['a list', { type: ['stop_processing'] }, null, ''],
  ])('%s is rejected and named; the next directive is kept', (_, entry, type, named) => {
    expect(faultOf(entry)).toBe('unknown_type');
    expect(() => deserializeDirective(entry)).toThrow(`Unknown directive type: ${named}`);
    const { directives, rejected } = extractDirectives(envelope([entry, stop]), trusted);
    expect(directives).toStrictEqual([stopped]);
    expect(rejected).toMatchObject([{ index: 0, type, reason: 'unknown_type', count: 1 }]);
  });
});

describe('D03, D04, D07–D09 params', () => {
  test.each<[string, string, unknown, string]>([
    ['null', 'stop_processing', null, ''],
    ['a list', 'stop_processing', [], ''],
    ['a string', 'stop_processing', 'x', ''],
    ['an unknown one', 'stop_processing', { now: true }, 'params.now is not a known key'],
    ['an unknown one beside a known', 'tier_change', { tier: 'a', x: 1 }, 'params.x is not a known key'],
    ['no tier', 'tier_change', {}, 'params.tier is required'],
    ['two tiers', 'tier_change', { tier: 'a', target_tier: 'b' }, 'params.target_tier differs from tier'],
    ['no content', 'inject_context', undefined, 'params.content is required'],
    ['no task', 'delegate', { target: 't' }, 'params.task is required'],
    ['one stage', 'pipeline', { stages: ['a'], task: 't' }, 'params.stages'],
    ['none at all', 'complete', undefined, 'params.summary is required'],
    ['items of text', 'todo_state_changed', { state: 's', items: 'x' }, 'params.items'],
    ['tier 5', 'tier_change', { tier: 5 }, 'params.tier'],
    ['keep_recent "3"', 'prune_messages', { keep_recent: '3' }, 'params.keep_recent'],
    ['keep_recent -1', 'prune_messages', { keep_recent: -1 }, 'params.keep_recent'],
    ['keep_recent 1.5', 'prune_messages', { keep_recent: 1.5 }, 'params.keep_recent'],
    ['data list', 'notify_presenter', { key: 'k', data: [] }, 'params.data'],
    ['role robot', 'inject_context', { content: 'c', role: 'robot' }, 'params.role'],
  ])('%s is rejected, naming it', (_name, type, params, message) => {
    const raw = params === undefined ? { type } : { type, params };
    expect(faultOf(raw)).toBe('invalid_params');
    expect(() => deserializeDirective(raw)).toThrow(message);
  });

  test('unknown keys beside type and params are ignored', () => {
    expect(deserializeDirective({ ...stop, id: 7 })).toStrictEqual(stopped);
  });

  test.each([
    ['__proto__', '{"__proto__":{}}', { result: 'r', rejected: [{ reason: 'invalid_params' }] }],
    ['NaN is not JSON, so there are no directives:', 'NaN', { directives: [], rejected: [] }],
  ])('%s inside params', (_, data, expected) => {
    const params = `{"key":"k","data":${data}}`;
    const text = `{"result":"r","_directives":[{"type":"notify_presenter","params":${params}}]}`;
    expect(extractDirectives(text, trusted)).toMatchObject({ result: text, ...expected });
  });
});

describe('D10 what carries no directives', () => {
  test.each([
    ['null', null],
    ['the empty string', ''],
    ['prose', 'It is done.'],
    ['a JSON array', '[{"_directives":[]}]'],
    ['a JSON string', '"_directives"'],
    ['a number', '7'],
    ['true', 'true'],
    ['trailing text', '{"_directives":[{"type":"stop_processing"}]} done'],
    ['leading text', 'done {"_directives":[{"type":"stop_processing"}]}'],
    ['a byte order mark', '\uFEFF{"_directives":[{"type":"stop_processing"}]}'],
    ['no _directives', '{"result":"r"}'],
    ['a tool result of prose', { content: [{ type: 'text', text: 'hello' }] }],
    ['a number that is no text', 7],
    ['an empty tool result', {}],
  ])('%s is left as it is', (_name, raw) => {
    expect(extractDirectives(raw, trusted)).toStrictEqual({ result: raw, directives: [], rejected: [] });
  });

  test.each(['null', '"stop_processing"', '{"type":"stop_processing"}', '7'])(
    '_directives that is %s, no list, is taken out and rejected',
    (value) => {
      const message = '_directives is not a list';
      const fault = { index: 0, type: null, reason: 'not_a_list', message, count: 1 };
      const text = `{"result":"r","_directives":${value}}`;
      expect(extractDirectives(text, trusted)).toStrictEqual({
        result: 'r',
        directives: [],
        rejected: [fault],
      });
      const structuredContent = { result: 'r', _directives: JSON.parse(value) };
      const content = [{ type: 'text', text: envelope([stop]) }];
      expect(extractDirectives({ content, structuredContent }, trusted)).toStrictEqual({
        result: { content: [{ type: 'text', text: 'done' }] },
        directives: [stopped],
        rejected: [fault],
      });
    },
  );

  test('white space around the object is accepted', () => {
    expect(extractDirectives(` \n${envelope([stop])}\r\n`, trusted).directives).toStrictEqual([stopped]);
  });

  test('of a repeated _directives the last one counts', () => {
    const text = '{"result":"r","_directives":[{"type":"dance"}],"_directives":[{"type":"stop_processing"}]}';
    expect(extractDirectives(text, trusted)).toMatchObject({ directives: [stopped], rejected: [] });
  });
});

describe('D11, D12 several entries', () => {
  test('stay in order; those that are not objects are rejected one by one', () => {
    const clear = { type: 'clear_self_todos' };
    const tier = { type: 'tier_change', params: { tier: 'code' } };
    const entries = ['stop_processing', clear, null, tier, 7, stop, []];
    const { directives, rejected } = extractDirectives(envelope(entries), trusted);
    expect(directives).toStrictEqual([
      { type: 'clear_self_todos', params: {} },
      { type: 'tier_change', params: { tier: 'code', reason: '' } },
      stopped,
    ]);
    const faults = [0, 2, 4, 6].map((index) => ({ index, reason: 'unknown_type' }));
    expect(rejected).toMatchObject(faults);
  });
});

describe('D13 excess', () => {
  test('100 000 nested brackets in params are rejected', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    const text = `{"result":"r","_directives":[{"type":"notify_presenter","params":{"key":"k","data":${deep}}},{"type":"stop_processing"}]}`;
    const { result, directives, rejected } = extractDirectives(text, trusted);
    expect(result).toBe('r');
    expect(directives).toStrictEqual([stopped]);
    expect(rejected).toMatchObject([{ index: 0, type: 'notify_presenter', reason: 'invalid_params' }]);
  });

  test('100 000 nested brackets beside the directives do not hide them', () => {
    const structuredContent = { deep: nested(100_000, (inner) => [inner]), _directives: [stop] };
    const { result, directives } = extractDirectives({ structuredContent, content: [] }, trusted);
    expect(directives).toStrictEqual([stopped]);
    expect(result).not.toHaveProperty('structuredContent._directives');
  });

  test.each([
    ['a text of 10 MB is read', 10_000_000, [stopped], []],
    ['a text above the size limit is not read, and rejected', 17_000_000, [], [{ reason: 'too_large' }]],
  ])('%s', (_, length, found, refused) => {
    const read = extractDirectives(envelope([stop], 'x'.repeat(length)), trusted);
    const { result, directives, rejected } = read;
    expect((result as string).length).toBeGreaterThanOrEqual(length);
    expect(directives).toStrictEqual(found);
    expect(rejected).toMatchObject(refused);
  });

  test('of 10 000 entries the first hundred count, the rest is rejected as one', () => {
    const entries = Array.from({ length: 10_000 }, () => stop);
    const { directives, rejected } = extractDirectives(envelope(entries), trusted);
    expect(directives).toHaveLength(100);
    expect(rejected).toMatchObject([{ index: 100, type: null, reason: 'too_many', count: 9900 }]);
  });
});

describe('D14 the raw result, before any formatting', () => {
  test('a formatted result carries nothing, the raw one does', () => {
    const raw = { content: [{ type: 'text', text: envelope([stop]) }] };
    const formatted = `Tool \`x\` returned:\n\n${envelope([stop])}\n\nContinue.`;
    expect(extractDirectives(formatted, trusted).directives).toEqual([]);
    expect(extractDirectives(raw, trusted)).toStrictEqual({
      result: { content: [{ type: 'text', text: 'done' }] },
      directives: [stopped],
      rejected: [],
    });
  });
});

describe('D15 several content items', () => {
  test('two text items that form one object are joined', () => {
    const text = envelope([stop]);
    const content = [
      { type: 'text', text: text.slice(0, 9) },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'text', text: text.slice(9) },
    ];
    expect(extractDirectives({ content }, trusted)).toMatchObject({
      result: { content: [{ type: 'text', text: 'done' }, { type: 'image' }] },
      directives: [stopped],
    });
  });

  test('one text item among prose is an object of its own', () => {
    const content = [
      { type: 'text', text: 'First this.' },
      { type: 'text', text: envelope([stop]) },
    ];
    expect(extractDirectives({ content }, trusted)).toMatchObject({
      result: { content: [{ text: 'First this.' }, { text: 'done' }] },
      directives: [stopped],
    });
  });

  test('structured content carries them too, and once only', () => {
    const structuredContent = { result: 'done', _directives: [stop] };
    const content = [{ type: 'text', text: JSON.stringify(structuredContent) }];
    expect(extractDirectives({ content, structuredContent }, trusted)).toStrictEqual({
      result: { content: [{ type: 'text', text: 'done' }] },
      directives: [stopped],
      rejected: [],
    });
  });

  test('other directives in the text and in the structured content are all read', () => {
    const structuredContent = { result: 'done', _directives: [stop] };
    const content = [{ type: 'text', text: envelope([{ type: 'clear_self_todos' }, stop]) }];
    expect(extractDirectives({ content, structuredContent }, trusted)).toStrictEqual({
      result: { content: [{ type: 'text', text: 'done' }] },
      directives: [stopped, { type: 'clear_self_todos', params: {} }, stopped],
      rejected: [],
    });
  });

  test('members in another order are the same list', () => {
    const anchor = { type: 'context_anchor', params: { key: 'k', content: 'c' } };
    const turned = { params: { content: 'c', key: 'k' }, type: 'context_anchor' };
    const structuredContent = { result: 'done', _directives: [anchor] };
    const content = [{ type: 'text', text: envelope([turned]) }];
    expect(extractDirectives({ content, structuredContent }, trusted).directives).toEqual([anchor]);
  });

  // FastMCP: a tool that returns a text has it as `structuredContent.result` too.
  test.each<[string, (text: string) => unknown]>([
    ['text', (text) => text],
    ['object', (text) => JSON.parse(text)],
  ])('a list that FastMCP wraps once more counts once, as %s, and is not shown', (_form, wrapped) => {
    const text = envelope([stop]);
    const raw = { content: [{ type: 'text', text }], structuredContent: { result: wrapped(text) } };
    expect(extractDirectives(raw, trusted)).toStrictEqual({
      result: { content: [{ type: 'text', text: 'done' }] },
      directives: [stopped],
      rejected: [],
    });
  });

  test('structured content with other members keeps them', () => {
    const structuredContent = { result: 'done', sum: 5, _directives: [stop] };
    expect(extractDirectives({ content: [], structuredContent }, trusted).result).toStrictEqual({
      content: [{ type: 'text', text: 'done' }],
      structuredContent: { result: 'done', sum: 5 },
    });
  });

  test('an object without result is shown without its directives', () => {
    expect(extractDirectives('{"sum":5,"_directives":[]}', trusted).result).toBe('{"sum":5}');
  });
});

describe('D16 an error result', () => {
  const raw = { isError: true, content: [{ type: 'text', text: envelope([stop]) }] };

  test('carries nothing by default, with rejections', () => {
    const { result, directives, rejected } = extractDirectives(raw, trusted);
    expect(directives).toEqual([]);
    expect(rejected).toMatchObject([{ index: 0, type: 'stop_processing', reason: 'error_result' }]);
    expect(result).toStrictEqual({ isError: true, content: [{ type: 'text', text: 'done' }] });
  });

  test('carries them by option', () => {
    expect(extractDirectives(raw, { trust: 'all', fromErrors: true }).directives).toStrictEqual([stopped]);
  });
});

describe('D17 trust', () => {
  const text = envelope([stop, { type: 'clear_self_todos' }, { type: 'dance' }]);

  test('is none by default: nothing is applied, everything counted', () => {
    const { result, directives, rejected } = extractDirectives(text);
    expect(directives).toEqual([]);
    expect(rejected.map(({ index, type, reason }) => [index, type, reason])).toEqual([
      [0, 'stop_processing', 'untrusted'],
      [1, 'clear_self_todos', 'untrusted'],
      [2, 'dance', 'untrusted'],
    ]);
    expect(result).toBe('done');
  });

  test('can be given type by type', () => {
    const { directives, rejected } = extractDirectives(text, { trust: ['clear_self_todos'] });
    expect(directives).toStrictEqual([{ type: 'clear_self_todos', params: {} }]);
    expect(rejected.map(({ type, reason }) => [type, reason])).toEqual([
      ['stop_processing', 'untrusted'],
      ['dance', 'unknown_type'],
    ]);
  });
});

function envelope(entries: unknown, result = 'done'): string {
  return JSON.stringify({ result, _directives: entries });
}

function faultOf(raw: unknown): string | null {
  try {
    deserializeDirective(raw);
    return null;
  } catch (error) {
    if (error instanceof ControlDirectiveError) return error.reason;
    throw error;
  }
}
