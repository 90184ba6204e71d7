/** What a tool answered, as parts of a page.
 *  It must never let a part be anything but text, a raster image, a sound or a download. */
import { expect, test } from 'vitest';
import { bytesOf, MOST_PARTS, resultParts } from '../parts/result-parts.ts';

const partsOf = (...content: unknown[]) => resultParts({ content }).parts;

test('text and structures are shown as they are', () => {
  expect(resultParts('<b>hi</b>').parts).toEqual([{ kind: 'text', text: '<b>hi</b>', label: '' }]);
  const structured = { content: [1, 2], sum: 3 };
  expect(resultParts(structured).parts).toEqual([{ kind: 'json', value: structured, label: '' }]);
  const both = { content: [{ type: 'text', text: 'x' }, { type: 'image' }], structured_content: { a: 1 } };
  expect(resultParts(both).parts.map(({ kind }) => kind)).toEqual(['text', 'json', 'json']);
});

test('only raster images and sounds are shown; all else is a download', () => {
  const kinds = partsOf(
    { type: 'image', mimeType: 'image/png', data: 'AA==' },
    { type: 'image', mimeType: 'image/svg+xml', data: 'AA==' },
    { type: 'image', mimeType: 'IMAGE/PNG; charset=x', data: 'AA==' },
    { type: 'image', mimeType: 'text/html', data: 'AA==' },
    { type: 'audio', mimeType: 'audio/wav', data: 'AA==' },
    { type: 'audio', mimeType: 'image/png', data: 'AA==' },
    { type: 'resource', resource: { uri: 'file:///a/b.svg', mimeType: 'image/svg+xml', blob: 'AA==' } },
    { type: 'resource', resource: { uri: 'x:y', text: 'inside' } },
    { type: 'resource_link', uri: 'javascript:alert(1)', name: 'a link' },
    { type: 'nobody knows' },
  ).map(({ kind }) => kind);
  expect(kinds).toEqual(['image', 'file', 'image', 'file', 'audio', 'image', 'file', 'text', 'link', 'json']);
});

test('a download has a name that is only a name', () => {
  const names = ['../../etc/passwd', '.bashrc', 'a b?.html', ''].flatMap((name) =>
    partsOf({ type: 'resource', resource: { uri: `f:/${name}`, mimeType: 'text/html', blob: '' } }),
  );
  expect(names.map((part) => (part.kind === 'file' ? part.name : part.kind))).toEqual([
    'passwd.html',
    'bashrc.html',
    'a-b-.html',
    'result.html',
  ]);
});

test('many parts are bounded, and their number is known', () => {
  const { parts, left } = resultParts({
    content: Array.from({ length: 250 }, () => ({ type: 'text', text: 'x' })),
  });
  expect([parts.length, left]).toEqual([MOST_PARTS, 150]);
});

test('what is no base64 is nothing', () => {
  expect(bytesOf('%%%')).toBeNull();
  expect(bytesOf('AQI=')).toEqual(new Uint8Array([1, 2]));
});

test('a result that was cut is a preview', () => {
  const payload = { truncated: true, bytes: 9_000, limit_bytes: 1, reference: '/v1/…', preview: '"abc' };
  expect(resultParts(payload).parts).toEqual([{ kind: 'preview', bytes: 9_000, text: 'abc' }]);
});

test('JSON in a text, and the beginning of one that was cut, are never escaped twice', () => {
  expect(partsOf({ type: 'text', text: '{"row":"a\\"b"}' })).toEqual([
    { kind: 'json', value: { row: 'a"b' }, label: '' },
  ]);
  const cut = { truncated: true, bytes: 9, limit_bytes: 1, reference: '/v1/…' };
  const textOf = (preview: string) =>
    resultParts({ ...cut, preview }).parts.map((part) => 'text' in part && part.text);
  const rows = JSON.stringify('[{"row":"é\\"}');
  expect(textOf(rows)).toEqual(['[{"row":"é\\"}']);
  expect(textOf(`{"content":[{"type":"text","text":${rows}`)).toEqual(['[{"row":"é\\"}']);
  for (const end of ['\\', '\\u', '\\u00e']) expect(textOf(`"ab\\\\${end}`)).toEqual(['ab\\']);
  expect(textOf('{"a":"b')).toEqual(['{"a":"b']);
});
