// The table of control directives: what is read from a tool's reply, what is rejected, what is not a directive.
// Must never expect a rejected directive to vanish without an entry.
import { describe, expect, test } from 'vitest';
import {
  ControlDirectiveError,
  deserializeDirective,
  extractDirectives,
  translateTodoStateChanged,
} from '../../src/contract/control-directive.ts';
import { nested } from './hostile-values.ts';

const trusted = { trust: 'all' } as const;
const stop = { type: 'stop_processing' };
const stopped = { type: 'stop_processing', params: {} };

describe('D01 every type, minimal and full', () => {
  test.each([
    ['stop_processing', undefined, {}],
    ['stop_processing', {}, {}],
    ['clear_self_todos', undefined, {}],
    ['tier_change', { tier: 'code' }, { tier: 'code', reason: '' }],
    ['tier_change', { tier: 'code', reason: 'hard' }, { tier: 'code', reason: 'hard' }],
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
    [
      'complete',
      { summary: 's', coverage_gap: true, gap_description: 'g', suggested_files: ['f'] },
      { summary: 's', coverage_gap: true, gap_description: 'g', suggested_files: ['f'] },
    ],
    ['phase_change', { phase: 'verify' }, { phase: 'verify' }],
  ])('%s with %j', (type, given, params) => {
    const raw = given === undefined ? { type } : { type, params: given };
    expect(deserializeDirective(raw)).toStrictEqual({ type, params });
  });
});

describe('D02 todo_state_changed', () => {
  test('is accepted with items null, and translated', () => {
    const directive = deserializeDirective({ type: 'todo_state_changed', params: { state: 's', count: 3 } });
    expect(directive).toStrictEqual({
      type: 'todo_state_changed',
      params: { state: 's', count: 3, items: null },
    });
    if (directive.type !== 'todo_state_changed') throw new Error('wrong type');
    expect(translateTodoStateChanged(directive)).toStrictEqual([
      { type: 'context_anchor', params: { key: 'todo_state', content: 's' } },
      { type: 'notify_presenter', params: { key: 'todo_update', data: { items: null, count: 3 } } },
    ]);
  });
});

describe('D03 items of todo_state_changed', () => {
  test.each([
    ['an array', [{ id: 1 }]],
    ['an object', { conversation_id: 'c', items: [] }],
    ['null', null],
  ])('%s is kept', (_name, items) => {
    const raw = { type: 'todo_state_changed', params: { state: 's', items } };
    expect(deserializeDirective(raw).params).toStrictEqual({ state: 's', count: 0, items });
  });

  test('a string is refused', () => {
    expect(faultOf({ type: 'todo_state_changed', params: { state: 's', items: 'x' } })).toBe(
      'invalid_params',
    );
  });
});

describe('D04 the spellings of tier_change', () => {
  test('target_tier and task_state come out as tier', () => {
    const params = { target_tier: 'code', reason: 'r', task_state: 'blocked' };
    expect(deserializeDirective({ type: 'tier_change', params }).params).toStrictEqual({
      tier: 'code',
      reason: 'r',
    });
  });

  test('both, alike', () => {
    const params = { target_tier: 'code', tier: 'code' };
    expect(deserializeDirective({ type: 'tier_change', params }).params).toStrictEqual({
      tier: 'code',
      reason: '',
    });
  });

  test('both, different', () => {
    const raw = { type: 'tier_change', params: { tier: 'code', target_tier: 'simple' } };
    expect(faultOf(raw)).toBe('invalid_params');
    expect(() => deserializeDirective(raw)).toThrow('params.target_tier differs from tier');
  });
});

describe('D05 an unknown type', () => {
  test('deserializeDirective throws, naming it', () => {
    expect(() => deserializeDirective({ type: 'dance' })).toThrow("Unknown directive type: 'dance'");
    expect(faultOf({ type: 'dance' })).toBe('unknown_type');
  });

  test('extractDirectives rejects it and keeps the next', () => {
    const { directives, rejected } = extractDirectives(envelope([{ type: 'dance' }, stop]), trusted);
    expect(directives).toStrictEqual([stopped]);
    expect(rejected).toMatchObject([{ index: 0, type: 'dance', reason: 'unknown_type' }]);
  });
});

describe('D06 no usable type', () => {
  test.each([
    ['missing', { params: {} }, null],
    ['empty object', {}, null],
    ['null', { type: null }, null],
    ['number', { type: 7 }, null],
    ['list', { type: ['stop_processing'] }, null],
    ['wrong case', { type: 'Stop_Processing' }, 'Stop_Processing'],
    ['inherited name', { type: 'constructor' }, 'constructor'],
  ])('%s is rejected', (_name, entry, type) => {
    expect(faultOf(entry)).toBe('unknown_type');
    const { directives, rejected } = extractDirectives(envelope([entry]), trusted);
    expect(directives).toEqual([]);
    expect(rejected).toMatchObject([{ index: 0, type, reason: 'unknown_type', count: 1 }]);
  });

  test('a missing type is named as the empty one', () => {
    expect(() => deserializeDirective({})).toThrow("Unknown directive type: ''");
  });
});

describe('D07 params that are not an object', () => {
  test('absent is fine for a type without params', () => {
    expect(deserializeDirective(stop)).toStrictEqual(stopped);
  });

  test.each([
    ['null', null],
    ['a list', []],
    ['a string', 'x'],
  ])('%s is rejected', (_name, params) => {
    expect(faultOf({ type: 'stop_processing', params })).toBe('invalid_params');
  });
});

describe('D08 unknown and missing params', () => {
  test.each([
    ['unknown param', { type: 'stop_processing', params: { now: true } }, 'params.now is not a known key'],
    [
      'unknown beside known',
      { type: 'tier_change', params: { tier: 'a', x: 1 } },
      'params.x is not a known key',
    ],
    ['missing tier', { type: 'tier_change', params: {} }, 'params.tier is required'],
    ['missing content', { type: 'inject_context' }, 'params.content is required'],
    ['missing task', { type: 'delegate', params: { target: 't' } }, 'params.task is required'],
    ['one stage', { type: 'pipeline', params: { stages: ['a'], task: 't' } }, 'params.stages'],
    ['no params at all', { type: 'complete' }, 'params.summary is required'],
  ])('%s is rejected, naming it', (_name, raw, message) => {
    expect(faultOf(raw)).toBe('invalid_params');
    expect(() => deserializeDirective(raw)).toThrow(message);
  });

  test('unknown keys beside type and params are ignored', () => {
    expect(deserializeDirective({ ...stop, id: 7 })).toStrictEqual(stopped);
  });
});

describe('D09 values of the wrong kind', () => {
  test.each([
    ['tier 5', { type: 'tier_change', params: { tier: 5 } }],
    ['keep_recent "3"', { type: 'prune_messages', params: { keep_recent: '3' } }],
    ['keep_recent -1', { type: 'prune_messages', params: { keep_recent: -1 } }],
    ['keep_recent 1.5', { type: 'prune_messages', params: { keep_recent: 1.5 } }],
    ['data list', { type: 'notify_presenter', params: { key: 'k', data: [] } }],
    ['role robot', { type: 'inject_context', params: { content: 'c', role: 'robot' } }],
  ])('%s is rejected', (_name, raw) => {
    expect(faultOf(raw)).toBe('invalid_params');
  });

  test('NaN is not JSON, so there are no directives', () => {
    const text = '{"result":"r","_directives":[{"type":"prune_messages","params":{"keep_recent":NaN}}]}';
    expect(extractDirectives(text, trusted)).toStrictEqual({ result: text, directives: [], rejected: [] });
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
    '_directives that is %s is taken out and ignored',
    (value) => {
      const text = `{"result":"r","_directives":${value}}`;
      expect(extractDirectives(text, trusted)).toStrictEqual({ result: 'r', directives: [], rejected: [] });
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

describe('D11 entries that are not objects', () => {
  test('are rejected one by one, the good ones kept', () => {
    const entries = ['stop_processing', stop, null, 7, { type: 'clear_self_todos' }, []];
    const { directives, rejected } = extractDirectives(envelope(entries), trusted);
    expect(directives.map((directive) => directive.type)).toEqual(['stop_processing', 'clear_self_todos']);
    expect(rejected.map(({ index, reason }) => [index, reason])).toEqual([
      [0, 'unknown_type'],
      [2, 'unknown_type'],
      [3, 'unknown_type'],
      [5, 'unknown_type'],
    ]);
  });
});

describe('D12 order', () => {
  test('three directives stay in order', () => {
    const entries = [{ type: 'clear_self_todos' }, { type: 'tier_change', params: { tier: 'code' } }, stop];
    const { directives } = extractDirectives(envelope(entries), trusted);
    expect(directives).toStrictEqual([
      { type: 'clear_self_todos', params: {} },
      { type: 'tier_change', params: { tier: 'code', reason: '' } },
      stopped,
    ]);
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

  test('a text of 10 MB is read', () => {
    const { result, directives } = extractDirectives(envelope([stop], 'x'.repeat(10_000_000)), trusted);
    expect(directives).toStrictEqual([stopped]);
    expect(result).toHaveLength(10_000_000);
  });

  test('a text above the size limit is not read, and rejected', () => {
    const { directives, rejected } = extractDirectives(envelope([stop], 'x'.repeat(17_000_000)), trusted);
    expect(directives).toEqual([]);
    expect(rejected).toMatchObject([{ reason: 'too_large' }]);
  });

  test('of 10 000 entries the first hundred count, the rest is rejected as one', () => {
    const { directives, rejected } = extractDirectives(
      envelope(Array.from({ length: 10_000 }, () => stop)),
      trusted,
    );
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

test('a __proto__ key inside params is rejected', () => {
  const text =
    '{"result":"r","_directives":[{"type":"notify_presenter","params":{"key":"k","data":{"__proto__":{}}}}]}';
  expect(extractDirectives(text, trusted).rejected).toMatchObject([{ reason: 'invalid_params' }]);
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
