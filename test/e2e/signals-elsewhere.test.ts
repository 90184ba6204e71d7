/** Signals in Redis as other programs read them (docs/redis.md): with `redis-cli`, and with the programs of examples/redis, which know
 *  Python's package `redis` alone. It must not read the keys by code of the service. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { countingCalls, idsOf } from '../support/calls.ts';
import { eventually } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { type Child, spawnProcess } from '../support/process.ts';
import { get, post, untilClosed } from '../support/public-api.ts';
import { pythonOfTests } from '../support/python.ts';
import { redisServerPath } from '../support/redis.ts';

const run = promisify(execFile);
const STREAM = { signals: { stream: { max_entries: 100_000 } } };

async function signalsOf(url: string, requestId: string): Promise<Signal[]> {
  const { body } = await get<{ signals: Signal[] }>(`${url}/v1/requests/${requestId}/signals?limit=1000`);
  return body.signals;
}

const submit = async (url: string, requestId: string, count: number, delayMs = 0): Promise<string[]> => {
  const directives = countingCalls(['read'], count, { requestId, delayMs });
  expect((await post(`${url}/v1/directives`, { directives })).status).toBe(202);
  return idsOf(directives);
};

/** Beside the server, or on the PATH; null: there is none. */
function redisCli(): string | null {
  const folders = [dirname(redisServerPath()), ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, 'redis-cli')).find((path) => existsSync(path)) ?? null;
}

const cli = redisCli();

test.skipIf(cli === null)(
  'redis-cli shows the log of a request as JSON under CloudEvents names, and the stream with whole signals',
  async () => {
    await using installation = await install({ config: STREAM });
    const { prefix, redis } = installation;
    const [{ url }] = await Promise.all([installation.start('api'), installation.start('worker')]);
    const show = async (...args: string[]): Promise<string> =>
      (await run(cli ?? '', ['-p', String(redis.port), ...args])).stdout.trim();
    await submit(url, 'shown', 2);
    await untilClosed(url, 'shown');
    const signals = await signalsOf(url, 'shown');

    const log = await show('LRANGE', `${prefix}:{shown}:log`, '0', '-1');
    const entries = log.split('\n').map((line) => JSON.parse(line) as Signal);
    const leftOut = { specversion: '1.0', subject: 'shown', datacontenttype: 'application/json' };
    expect(entries.map((entry) => ({ ...leftOut, ...entry }))).toEqual(signals);
    expect(entries.map(({ sequence }) => sequence)).toEqual(entries.map((_, index) => index + 1));

    const stream = await show('--json', 'XRANGE', `${prefix}:signals`, '-', '+');
    const streamed = (JSON.parse(stream) as [string, string[]][]).map(([, fields]) => fields);
    expect(streamed.map((fields) => JSON.parse(fields[fields.indexOf('signal') + 1] ?? ''))).toEqual(signals);
    expect(streamed.map((fields) => fields[fields.indexOf('directive_id') + 1])).toEqual(
      signals.map(({ causationid }) => causationid),
    );
  },
);

/** Ids of signals that a life of the consumer has printed twice. */
function duplicatesOf(consumed: readonly Consumed[]): string[] {
  const ids = consumed.map(({ id }) => id);
  return ids.filter((id, index) => ids.indexOf(id) !== index);
}

/** Sequences of a request in the order in which the consumer saw each of them first. */
function firstSeen(consumed: readonly Consumed[], requestId: string): number[] {
  const seen = consumed.filter(({ request_id }) => request_id === requestId);
  return [...new Set(seen.map(({ sequence }) => sequence))];
}

const python = await pythonOfTests();

const start = (program: string, ...args: string[]): Child =>
  spawnProcess(python ?? '', [join('examples/redis', program), ...args], { env: { PYTHONUNBUFFERED: '1' } });

/** What a program of the examples has printed; any other line is an error of it. */
function printed<T>({ lines }: Child): T[] {
  expect(lines.filter((line) => !line.startsWith('{'))).toEqual([]);
  return lines.map((line) => JSON.parse(line) as T);
}

/** A line of consume.py. */
interface Consumed {
  readonly request_id: string;
  readonly directive_id: string;
  readonly run_id: string;
  readonly type: string;
  readonly sequence: number;
  readonly id: string;
}

/** Skipped on a machine without python3 and its module venv. */
const named = `a Python program that knows the package redis alone${python === null ? ': python3 with venv is missing' : ''}`;

describe.skipIf(python === null)(named, () => {
  test('follows a request to its end: what is written, then what comes', async () => {
    await using installation = await install();
    const { url } = await installation.start('api');
    await submit(url, 'followed', 5, 50);
    const follower = start('follow.py', installation.redis.url, 'followed', installation.prefix);
    await installation.start('worker');
    expect(await follower.exited).toEqual({ code: 0, signal: null });
    await eventually(() => printed(follower)).toEqual(await signalsOf(url, 'followed'));
  });

  /** Reports of signals that a consumer lost, or saw twice: issue 34, "a consumer that dies loses nothing". */
  test('reads every signal by a consumer group while workers and the consumer are killed, each request in its order', async () => {
    await using installation = await install({
      server: { lane: { concurrency: 10 } },
      config: { worker: { lease_ms: 1_000 }, ...STREAM },
    });
    const { redis, prefix } = installation;
    const consume = (): Child => start('consume.py', redis.url, `${prefix}:signals`, 'group', 'one');
    const [{ url }, ...workers] = await Promise.all([
      installation.start('api'),
      installation.start('worker'),
      installation.start('worker'),
    ]);
    const lives = [consume()];
    const requests = ['first', 'second', 'third'];
    for (const [index, worker] of workers.entries()) {
      // Each life of the consumer has signals of its own to read.
      await submit(url, requests[index] ?? '', 60, 100);
      await lives.at(-1)?.nextLine();
      await Promise.all([worker.kill9(), lives.at(-1)?.kill9()]);
      lives.push(consume());
      await installation.start('worker');
    }
    await submit(url, requests.at(-1) ?? '', 60, 100);
    for (const requestId of requests) await untilClosed(url, requestId);

    const written = new Map<string, Signal[]>();
    for (const requestId of requests) written.set(requestId, await signalsOf(url, requestId));
    const all = [...written.values()].flat().map(({ id }) => id);
    const consumed = () => lives.flatMap((life) => printed<Consumed>(life));
    await eventually(() => new Set(consumed().map(({ id }) => id)).size).toBe(all.length);
    for (const life of lives) expect(duplicatesOf(printed<Consumed>(life))).toEqual([]);
    for (const requestId of requests)
      expect(firstSeen(consumed(), requestId)).toEqual(
        written.get(requestId)?.map(({ sequence }) => sequence),
      );
  });
});
