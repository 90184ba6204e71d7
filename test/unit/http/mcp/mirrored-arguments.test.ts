/** Headers that repeat arguments: which calls agree with theirs, and which are refused.
 *  It must not check what the SDK checks already: the headers of the method and of the tool's name. */
import { expect, test } from 'vitest';
import { mismatchedHeader } from '../../../../src/http/mcp/mirrored-arguments.ts';

const SCHEMA = {
  type: 'object',
  properties: {
    region: { type: 'string', 'x-mcp-header': 'Region' },
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    dry: { type: 'boolean', 'x-mcp-header': 'Dry' },
    inner: { type: 'object', properties: { deep: { type: 'string', 'x-mcp-header': 'Deep' } } },
    odd: { type: 'string', 'x-mcp-header': 'not a token' },
    plain: { type: 'string' },
  },
};
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`;

function wrong(args: unknown, headers: Record<string, string> = {}, schema: object = SCHEMA): string | null {
  return mismatchedHeader(schema as Readonly<Record<string, unknown>>, args, new Headers(headers));
}

test.each<[string, unknown, Record<string, string>]>([
  ['nothing is mirrored', { plain: 'x', odd: 'y' }, {}],
  ['the same text', { region: 'eu' }, { 'mcp-param-region': 'eu' }],
  ['a text in Base64', { region: 'Zürich\n' }, { 'mcp-param-region': base64('Zürich\n') }],
  [
    'half of a wrapper is the text itself',
    { region: '=?base64?eA==' },
    { 'mcp-param-region': '=?base64?eA==' },
  ],
  ['the same number', { count: 42 }, { 'mcp-param-count': '42.0' }],
  ['a truth value', { dry: true }, { 'mcp-param-dry': 'true' }],
  ['an inner argument', { inner: { deep: 'x' } }, { 'mcp-param-deep': 'x' }],
  ['null, and a header for it', { region: null }, { 'mcp-param-region': 'eu' }],
  ['no arguments', undefined, {}],
  ['what no header can carry', { region: ['eu'], count: 2 ** 60 }, {}],
])('agrees: %s', (_, args, headers) => {
  expect(wrong(args, headers)).toBeNull();
});

test.each<[string, unknown, Record<string, string>, string]>([
  ['a missing header', { region: 'eu' }, {}, 'Mcp-Param-Region'],
  ['another text', { region: 'eu' }, { 'mcp-param-region': 'us' }, 'Mcp-Param-Region'],
  [
    'Base64 without its padding',
    { region: 'Hello' },
    { 'mcp-param-region': '=?base64?SGVsbG8?=' },
    'Mcp-Param-Region',
  ],
  ['Base64 of no UTF-8', { region: '�' }, { 'mcp-param-region': '=?base64?/w==?=' }, 'Mcp-Param-Region'],
  ['a number as another', { count: 42 }, { 'mcp-param-count': '43' }, 'Mcp-Param-Count'],
  ['a number as no number', { count: 0 }, { 'mcp-param-count': '' }, 'Mcp-Param-Count'],
  ['an inner argument', { inner: { deep: 'x' } }, {}, 'Mcp-Param-Deep'],
])('disagrees: %s', (_, args, headers, header) => {
  expect(wrong(args, headers)).toBe(header);
});

test('a name of Object.prototype is an argument like another, and a deep schema ends', () => {
  const schema = JSON.parse(
    '{"properties":{"__proto__":{"type":"string","x-mcp-header":"P"},"constructor":{"x-mcp-header":"C"}}}',
  ) as object;
  expect(wrong({}, {}, schema)).toBeNull();
  expect(wrong(JSON.parse('{"__proto__":"x"}'), {}, schema)).toBe('Mcp-Param-P');
  const deep: { properties?: { a: object } } = {};
  let innermost = deep;
  for (let depth = 0; depth < 10_000; depth += 1)
    innermost = (innermost.properties = { a: {} }).a as typeof deep;
  expect(wrong({ a: 1 }, {}, deep)).toBeNull();
});
