/** Files of cases that are no cases: each is refused with its line, within bounds. */
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CaseFault } from '../../../../src/contract/case/case.ts';
import {
  caseText,
  LARGEST_CASE_BYTES,
  parseCase,
  readCase,
  readCaseOrArchive,
} from '../../../../src/features/cases/case-file.ts';

const HEAD = { kind: 'case', format: 1, request_id: 'r', agent: null, query: null, end: null };
const CALL = {
  kind: 'call',
  id: 'c',
  tool: 'a.b',
  arguments: {},
  answer: { ok: true, payload: 1, effects: [] },
  duration_ms: 1,
};
const MODEL = {
  kind: 'model',
  id: 'm',
  model: null,
  system_prompt: null,
  kept_messages: 0,
  messages: [{ role: 'user', content: 'hi' }],
  tools: [],
  answer: { ok: true, payload: {}, effects: [] },
  usage: null,
  duration_ms: 1,
};

function textOf(...lines: readonly (object | string)[]): string {
  const texts = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)));
  return `${texts.join('\n')}\n`;
}

const end = (lines: number): object => ({ kind: 'end', lines });

test('a case is read as it was written, messages kept by their number', () => {
  const second = { ...MODEL, id: 'm2', kept_messages: 1, messages: [{ role: 'user', content: 'more' }] };
  const recorded = parseCase(textOf(HEAD, MODEL, CALL, second, end(4)), 'f');
  expect(recorded.turns.map(({ model, calls }) => [model?.messages.length, calls.length])).toEqual([
    [1, 1],
    [2, 0],
  ]);
  expect(parseCase(caseText(recorded), 'f')).toEqual(recorded);
});

describe('a hostile file', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cases-'));
  });
  afterAll(async () => rm(folder, { recursive: true, force: true }));

  test.each([
    ['nothing', '', 'line 1 is no head'],
    ['another version', textOf({ ...HEAD, format: 2 }, end(1)), 'f:1 is not a recorded case: format'],
    ['no end', textOf(HEAD, CALL), 'the case is incomplete'],
    ['an end of other lines', textOf(HEAD, CALL, end(1)), 'the case is incomplete'],
    ['a second head', textOf(HEAD, HEAD, end(2)), 'line 2 is of the kind "case"'],
    ['no JSON', textOf(HEAD, '{'), 'f:2 is not a recorded case: the line is not JSON'],
    [
      'a name of Object.prototype',
      textOf(HEAD, '{"kind":"call","arguments":{"__proto__":{}}}'),
      'f:2 is not',
    ],
    ['an unknown kind', textOf(HEAD, { kind: 'constructor' }, end(2)), 'f:2 is not'],
    [
      'messages that were never there',
      textOf(HEAD, { ...MODEL, kept_messages: 9 }, end(2)),
      'keeps 9 messages of 0',
    ],
    ['deep nesting', textOf(HEAD, `${'['.repeat(600)}${']'.repeat(600)}`), 'nested deeper than 512'],
    ['very many lines', '\n'.repeat(100_000), 'more than 20000 lines'],
  ])('with %s is refused', (_, text, why) => {
    expect(() => parseCase(text, 'f')).toThrow(CaseFault);
    expect(() => parseCase(text, 'f')).toThrow(why);
  });

  test('that is too large is not read', async () => {
    const file = join(folder, 'huge.jsonl');
    await writeFile(file, '');
    await truncate(file, LARGEST_CASE_BYTES + 1);
    expect(() => readCase(file)).toThrow('at most 67108864');
  });

  test('that unpacks to more is not unpacked', async () => {
    const file = join(folder, 'bomb.jsonl.gz');
    await writeFile(file, gzipSync(Buffer.alloc(LARGEST_CASE_BYTES + 1)));
    await expect(readCaseOrArchive(file)).rejects.toThrow('cannot be unpacked');
  });

  test('of an archive without its end is no request', async () => {
    const file = join(folder, 'archive.jsonl');
    const head = {
      kind: 'request',
      format: 1,
      tenant: 'default',
      request_id: 'r',
      sequence: 1,
      created_at: '2026-01-01T00:00:00Z',
      closed_at: '2026-01-01T00:00:01Z',
      run: null,
    };
    await writeFile(file, `${JSON.stringify(head)}\n`);
    await expect(readCaseOrArchive(file)).rejects.toThrow('the archive of the request is incomplete');
    await writeFile(file, `${JSON.stringify(head)}\n{"kind":"end","lines":1}\n`);
    expect((await readCaseOrArchive(file)).head.request_id).toBe('r');
  });
});
