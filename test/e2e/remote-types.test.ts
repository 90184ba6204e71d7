/** Directive types in Python (issue 39, A.1): the program, the worker and the API are killed in the middle of their work.
 *  Public rule: docs/python.md, "Directive types": `once` work begins at most once, and its end is never lost while its program lives. */
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { TerminalSignal } from '../../src/contract/signal/signal.ts';
import { type AdjutantProcess, install, type Installation } from '../support/installation.ts';
import { type Child, freePort, spawnProcess } from '../support/process.ts';
import { CLIENT_PACKAGES, pythonOfTests } from '../support/python.ts';

const python = await pythonOfTests(CLIENT_PACKAGES);

let installation: Installation;
let port: number;
let api: AdjutantProcess;
let worker: AdjutantProcess;
let program: Child;
let client: DirectiveClient;
let folder: string;

beforeAll(async () => {
  if (python === null) return;
  folder = await mkdtemp(join(tmpdir(), 'adjutant-work-'));
  installation = await install({
    config: {
      remote_directives: {
        // Longer than the start of an API on a busy machine.
        pay: { lease_ms: 120_000 },
        'pay-fast': { lease_ms: 2_000 },
        tally: { effect: 'idempotent', lease_ms: 2_000 },
      },
    },
  });
  port = await freePort();
  [api, worker] = await Promise.all([installation.start('api', port), installation.start('worker')]);
  client = createHttpClient({ baseUrl: api.url });
  program = await startProgram();
});

afterAll(async () => {
  await program?.kill9();
  await client?.close();
  await installation?.[Symbol.asyncDispose]();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

async function startProgram(): Promise<Child> {
  const env = { PYTHONPATH: 'clients/python/src', PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawnProcess(python ?? '', ['clients/python/tests/work.py', api.url, folder], { env });
  await child.waitForLine(/^works$/);
  return child;
}

function notes(key: string): string[] {
  const file = join(folder, 'work.log');
  const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
  return lines.filter((line) => line.endsWith(` ${key}`)).map((line) => line.split(' ')[0] ?? '');
}

async function untilNoted(key: string, ...expected: string[]): Promise<void> {
  const watcher = watch(folder);
  while (notes(key).join() !== expected.join()) await once(watcher, 'change');
  watcher.close();
}

const release = (name: string): void => writeFileSync(join(folder, name), '');

/** Of a type that this program does not know. */
const directive = (type: string, key: string, more: object = {}): never =>
  ({ type, key, request_id: key, id: 'work', ...more }) as never;

const resultOf = (end: TerminalSignal | null): unknown => end && 'result' in end.data && end.data.result;

test.skipIf(python === null)('work is executed in Python, checked, and tried again', async () => {
  const done = await client.execute(directive('tally', 'plain', { max_retries: 1, fails: 1 }));
  expect(resultOf(done)).toEqual({
    ok: true,
    payload: { key: 'plain', attempt: 2, id: 'work' },
    effects: [],
  });
  const invalid = await client.execute(directive('tally', 'invalid', { fails: 'often' }));
  expect(resultOf(invalid)).toMatchObject({ ok: false, error: { type: 'invalid_arguments' } });
  expect(notes('invalid')).toEqual([]);
});

test.skipIf(python === null)('a cancelled directive cancels its handler', async () => {
  await client.submit(directive('tally', 'unwanted', { hold: 'never' }));
  await untilNoted('unwanted', 'begin');
  await client.cancel('unwanted', 'work');
  await untilNoted('unwanted', 'begin', 'cancelled');
  const end = await client.result('unwanted', 'work');
  expect(resultOf(end)).toMatchObject({ ok: false, error: { type: 'cancelled' } });
});

test.skipIf(python === null)(
  'the program dies: `idempotent` work is repeated, `once` work is not',
  async () => {
    await client.submit(directive('tally', 'repeated', { hold: 'repeat' }));
    await client.submit(directive('pay-fast', 'doubtful', { hold: 'never' }));
    await Promise.all([untilNoted('repeated', 'begin'), untilNoted('doubtful', 'begin')]);
    await program.kill9();
    release('repeat');
    program = await startProgram();
    const repeated = await client.result('repeated', 'work');
    expect(resultOf(repeated)).toMatchObject({ ok: true, payload: { attempt: 2 } });
    expect(await client.directive('repeated', 'work')).toMatchObject({ attempts: 2 });
    expect(notes('repeated')).toEqual(['begin', 'begin', 'end']);
    const doubtful = await client.result('doubtful', 'work');
    expect(resultOf(doubtful)).toMatchObject({ ok: false, error: { type: 'outcome_unknown' } });
    expect(notes('doubtful')).toEqual(['begin']);
  },
);

test.skipIf(python === null)('the worker dies: another one waits for the end of the same work', async () => {
  await client.submit(directive('pay', 'handed', { hold: 'hand' }));
  await untilNoted('handed', 'begin');
  await worker.kill9();
  worker = await installation.start('worker');
  release('hand');
  const end = await client.result('handed', 'work');
  expect(resultOf(end)).toMatchObject({ ok: true, payload: { key: 'handed', attempt: 1 } });
  expect(notes('handed')).toEqual(['begin', 'end']);
});

test.skipIf(python === null)('the API dies: the program waits for it with the end of its work', async () => {
  await client.submit(directive('pay', 'kept', { hold: 'keep' }));
  await untilNoted('kept', 'begin');
  await api.kill9();
  release('keep');
  await untilNoted('kept', 'begin', 'end');
  api = await installation.start('api', port);
  const end = await client.result('kept', 'work');
  expect(resultOf(end)).toMatchObject({ ok: true, payload: { key: 'kept' } });
  expect(notes('kept')).toEqual(['begin', 'end']);
});

test.skipIf(python === null)('a program that is stopped ends its work first', async () => {
  await client.submit(directive('pay', 'last', { hold: 'finish' }));
  await untilNoted('last', 'begin');
  const stopped = program.stop();
  release('finish');
  expect(await stopped, program.lines.join('\n')).toEqual({ code: 0, signal: null });
  const end = await client.result('last', 'work');
  expect(resultOf(end)).toMatchObject({ ok: true, payload: { key: 'last' } });
});
