/** Calls and processes when a stdio server crashes, hangs, floods or must stop.
 *  It must never look at the pool's internals: only calls, events and the processes themselves count. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import type { McpServerConfig } from '../../../src/config/servers.ts';
import { createMcpPool } from '../../../src/mcp/pool.ts';
import { serverOptions } from '../../../src/service/roles/mcp-servers.ts';
import { TRACEPARENT, failureOf, openPool, sharedPool, textOf } from '../../support/mcp-pool.ts';
import { parse } from '../../support/parsed-config.ts';
import { everything, legacyPeer, modernPeer, slowly } from '../../support/mcp-servers.ts';
import { exists, gone } from '../../support/mcp-process.ts';
import { SILENT } from '../../../src/platform/telemetry/logger.ts';

async function ownLog(): Promise<string> {
  return join(await mkdtemp(join(tmpdir(), 'adjutant-mcp-')), 'events.log');
}

// docs/mcp-servers.md, "Variables of a stdio server": npx waited without a word behind a private authority.
test('a server gets the network of its worker, but no password of a proxy and no other variable', async () => {
  const { command, args } = everything().transport;
  const raw = { mcpServers: { it: { command, args, cwd: '/', env: { NO_PROXY: 'own.example' } } } };
  const config = parse(raw, {
    NODE_EXTRA_CA_CERTS: '/srv/user@company/authority.pem',
    https_proxy: 'http://proxy.example:3128',
    HTTP_PROXY: 'http://user:password@proxy.example:3128',
    NO_PROXY: '.internal.example',
    KEY_OF_THE_WORKER: 'secret',
  });
  const { call } = openPool(
    serverOptions('it', config.mcpServers.get('it') as McpServerConfig, { ...config, agents: [] }),
  );
  const env = JSON.parse(textOf(await call('get-env'))) as Record<string, string>;
  expect(env).toMatchObject({
    NODE_EXTRA_CA_CERTS: '/srv/user@company/authority.pem',
    https_proxy: 'http://proxy.example:3128',
    NO_PROXY: 'own.example',
  });
  expect(Object.keys(env)).not.toContain('HTTP_PROXY');
  expect(Object.keys(env)).not.toContain('KEY_OF_THE_WORKER');
});

test('connects on the first call, without start', async () => {
  const { pool, call, listings } = openPool(legacyPeer());
  expect(pool.tools('legacy')).toBeNull();
  expect(textOf(await call('echo', { a: 1 }))).toBe('{"a":1}');
  expect(pool.status('legacy')).toBe('ready');
  expect(listings).toHaveLength(1);
});

describe('one process of a server', () => {
  const peer = sharedPool(legacyPeer());
  beforeAll(async () => void (await peer.call('echo')));

  /** What the server has seen since the last look. */
  let known = 0;
  async function news(): Promise<string[]> {
    const events = JSON.parse(textOf(await peer.call('events'))) as string[];
    const latest = events.slice(known);
    known = events.length;
    return latest;
  }

  test('reads every page of the tool list', async () => {
    const names = (peer.pool.tools('legacy') ?? []).map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining(['echo', 'flood', 'large']));
    expect(new Set(names).size).toBe(names.length);
    expect(peer.pool.describe('legacy', 'add')).toMatchObject({
      server: 'legacy',
      description: 'does add',
      outputSchema: { required: ['sum'] },
    });
  });

  test('carries the trace and the idempotency key', async () => {
    const meta: unknown = JSON.parse(textOf(await peer.call('meta')));
    expect(meta).toMatchObject({ traceparent: TRACEPARENT, 'adjutant/idempotencyKey': 'request/directive' });
  });

  test('a cancel reaches the server and is not reported as a timeout', async () => {
    const abort = new AbortController();
    const waiting = peer.call(
      'wait',
      {},
      { signal: abort.signal, onSent: () => queueMicrotask(() => abort.abort()) },
    );
    expect(failureOf(await waiting)).toMatchObject({
      sent: true,
      error: { type: 'cancelled', retryable: false },
    });
    expect(await news()).toEqual(['waiting', 'cancelled: cancelled']);
  });

  test('a cancel before the call sends nothing', async () => {
    const failed = failureOf(await peer.call('wait', {}, { signal: AbortSignal.abort() }));
    expect(failed).toMatchObject({ sent: false, error: { type: 'cancelled' } });
    expect(await news()).toEqual([]);
  });

  test('a call that may not begin any more when it would be sent is not sent', async () => {
    const failed = failureOf(await peer.call('wait', {}, { mayBegin: async () => null }));
    expect(failed).toMatchObject({ sent: false });
    expect(await news()).toEqual([]);
  });

  test('a call that is cancelled while it asks whether it may begin is not said to have been sent', async () => {
    const abort = new AbortController();
    const announced: string[] = [];
    const mayBegin = async () => {
      abort.abort();
      return () => true;
    };
    const onSent = (): void => void announced.push('sent');
    const failed = failureOf(await peer.call('wait', {}, { signal: abort.signal, mayBegin, onSent }));
    expect(failed).toMatchObject({ sent: false, error: { type: 'cancelled' } });
    expect([announced, await news()]).toEqual([[], []]);
  });

  test('the time in which a call asks whether it may begin is none of its own', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const mayBegin = async () => {
      vi.advanceTimersByTime(20_000);
      vi.useRealTimers();
      return () => true;
    };
    const answered = await peer.call('echo', { text: 'late' }, { timeoutMs: 10_000, mayBegin });
    expect(textOf(answered)).toBe('{"text":"late"}');
    expect(await news()).toEqual([]);
  });

  test('a timeout reaches the server', async () => {
    const failed = failureOf(await peer.call('wait', {}, { timeoutMs: 50 }));
    expect(failed).toEqual({
      kind: 'failed',
      sent: true,
      error: {
        type: 'timeout',
        message: 'Tool execution timed out',
        details: { timeout_ms: 50 },
        retryable: true,
      },
    });
    expect(await news()).toEqual(['waiting', 'cancelled: timed_out']);
  });

  test('progress keeps a call alive past its timeout, but not past its total time', async () => {
    const args = { beats: 10, everyMs: 250 };
    expect(textOf(await peer.call('beat', args, { timeoutMs: 2_000 }))).toBe('done');
    const failed = failureOf(await peer.call('beat', args, { timeoutMs: 2_000, maxTotalMs: 2_100 }));
    expect(failed).toMatchObject({
      sent: true,
      error: { type: 'timeout', details: { max_total_ms: 2_100 } },
    });
    // The tool looks at its next beat.
    const heard: string[] = [];
    await eventually(async () => {
      heard.push(...(await news()));
      return heard;
    }).toEqual(['beat cancelled']);
  });

  test('delivers every progress note of a short burst, the last one too', async () => {
    const notes: unknown[] = [];
    await peer.call('flood', { notes: 5 }, { onProgress: (note) => notes.push(note) });
    expect(notes).toHaveLength(5);
    expect(notes.at(-1)).toEqual({ progress: 5, total: 5, message: 'step 5' });
  });

  test('thins a flood of progress and keeps its last note', async () => {
    const notes: number[] = [];
    const flooded = await peer.call(
      'flood',
      { notes: 2_500 },
      { onProgress: ({ progress }) => notes.push(progress) },
    );
    expect(textOf(flooded)).toBe('flooded');
    expect(notes.length).toBeLessThan(500);
    expect(notes.at(-1)).toBe(2_500);
  });

  test('progress after the answer is dropped silently', async () => {
    const notes: unknown[] = [];
    expect(textOf(await peer.call('late', {}, { onProgress: (note) => notes.push(note) }))).toBe('answered');
    // Progress and answers share one pipe: this answer comes after the late note.
    await peer.call('beat', { beats: 1, everyMs: 50 });
    expect(notes).toEqual([]);
    expect(peer.logs.filter((line) => line.level !== 'debug' && line.level !== 'info')).toEqual([]);
  });
});

test('a stop in the moment between the list and the first call leaves nothing behind', async () => {
  const stopping = Promise.withResolvers<void>();
  const pool = createMcpPool({ servers: [legacyPeer()], logger: SILENT });
  pool.subscribe({ onTools: () => stopping.resolve(pool.stop()) });
  pool.start();
  await stopping.promise;
  expect(pool.status('legacy')).not.toBe('ready');
});

test('start connects in the background, and a broken server delays no other', async () => {
  const broken = { ...legacyPeer(), name: 'broken' };
  const missing = { ...broken, transport: { ...broken.transport, command: '/nowhere/at/all' } };
  const { pool, until, statuses } = openPool(missing, everything());
  pool.start();
  await until(() => pool.status('everything') === 'ready' && pool.status('broken') === 'unavailable');
  const failed = statuses.find(({ server, status }) => server === 'broken' && status === 'unavailable');
  expect(failed?.error).toContain('ENOENT');
});

// Issue 33: the first call after `adjutant init` came while npx was still downloading the server, and the error did not say so.
test('a call that ends while its server is still starting says so, since when, what may take long, and what to do', async () => {
  const npx = join(await mkdtemp(join(tmpdir(), 'adjutant-mcp-')), 'npx');
  await writeFile(npx, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
  const transport = { kind: 'stdio', command: npx, args: [], env: {} } as const;
  const { call, logs, pool } = openPool({ name: 'downloading', transport });
  // Issue 36: the log of `adjutant up` was silent meanwhile.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  pool.start();
  const said: unknown[] = [];
  void call('echo', {}, { onProgress: ({ message }) => void said.push(message) });
  await vi.advanceTimersByTimeAsync(5_000);
  vi.useRealTimers();
  expect(said).toEqual([
    expect.stringMatching(
      /^waits for its server: it has been starting for \d+ s; at its first start npx downloads it/,
    ),
  ]);
  expect(logs.find(({ message }) => message === 'MCP server is still starting')?.fields).toMatchObject({
    reason: expect.stringMatching(/at its first start npx downloads it, which may take minutes$/),
  });
  const failed = failureOf(await call('echo', {}, { timeoutMs: 1, maxTotalMs: 1 }));
  expect(failed).toMatchObject({ sent: false, error: { type: 'network', retryable: true } });
  expect(failed.error.message).toMatch(
    /"downloading" is not available: it has been starting for \d+ s; at its first start npx downloads it, .*: call again/,
  );
});

test('a command that does not exist fails its calls at once, as network and unsent', async () => {
  const broken = legacyPeer();
  const { call } = openPool({ ...broken, transport: { ...broken.transport, command: '/nowhere/at/all' } });
  const failed = failureOf(await call('echo'));
  expect(failed).toMatchObject({ sent: false, error: { type: 'network', retryable: true } });
  expect(failed.error.message).toContain('ENOENT');
});

test('after a crash the calls in flight fail as network and sent, and the server is started again', async () => {
  const { call, until, statuses } = openPool(legacyPeer());
  const before = textOf(await call('pid'));
  const waiting = call('wait');
  const crashed = failureOf(await call('crash'));
  expect(crashed).toMatchObject({ sent: true, error: { type: 'network', retryable: true } });
  expect(failureOf(await waiting)).toMatchObject({ sent: true, error: { type: 'network' } });
  const after = textOf(await call('pid'));
  expect(after).not.toBe(before);
  await until(() => statuses.at(-1)?.status === 'ready');
  expect(statuses.map(({ status }) => status)).toEqual(['ready', 'connecting', 'ready']);
  expect(statuses[1]?.error).toContain('exited with code 3');
});

test('a server killed again and again during 200 calls fails only the calls in flight', async () => {
  const { call } = openPool(legacyPeer());
  const calls = Array.from({ length: 200 }, async (_, index) =>
    call(index % 50 === 25 ? 'crash' : 'echo', { index }),
  );
  const outcomes = await Promise.all(calls);
  const failures = outcomes.filter((outcome) => outcome.kind === 'failed');
  expect(failures.length).toBeGreaterThanOrEqual(4);
  for (const { error, sent } of failures)
    expect({ type: error.type, sent }).toEqual({ type: 'network', sent: true });
  expect(textOf(await call('echo', { again: true }))).toBe('{"again":true}');
});

test('a call made while the server cannot come back waits until its timeout and fails unsent', async () => {
  const { transport } = legacyPeer();
  const { pool, call, until } = openPool({
    name: 'gone',
    transport: { ...transport, args: ['-e', 'process.exit(4)'] },
  });
  pool.start();
  await until(() => pool.status('gone') === 'unavailable');
  const failed = failureOf(await call('echo', {}, { timeoutMs: 50 }));
  expect(failed).toMatchObject({ sent: false, error: { type: 'network', retryable: true } });
  expect(failed.error.message).toContain('exited with code 4');
});

test('a changed tool list is read again once for many announcements, and its tools can be called', async () => {
  const { call, listings, until } = openPool(legacyPeer());
  const name = textOf(await call('grow'));
  expect(textOf(await call(name))).toBe('extra');
  await until(() => listings.length === 2);
  expect(listings[1]?.tools.map((tool) => tool.name)).toContain('extra-1');
  expect(textOf(await call('listings'))).toBe('2');
});

test('stop cancels what is in flight, on the wire, before the server goes', async () => {
  const log = await ownLog();
  const { pool, call } = openPool(legacyPeer({ PEER_LOG: log }));
  await call('echo');
  const waiting = call('wait');
  await call('echo');
  await pool.stop();
  expect(failureOf(await waiting)).toMatchObject({ sent: true, error: { type: 'network' } });
  expect(await readFile(log, 'utf8')).toBe('waiting\ncancelled: stopped\n');
  expect(failureOf(await call('echo'))).toMatchObject({ sent: false, error: { type: 'network' } });
});

test('stop ends the whole process group', async () => {
  const { pool, call } = openPool(legacyPeer());
  const server = Number(textOf(await call('pid')));
  const grandchild = Number(textOf(await call('descend')));
  expect([exists(server), exists(grandchild)]).toEqual([true, true]);
  await pool.stop();
  await pool.stop();
  await gone(grandchild);
  expect(exists(server)).toBe(false);
});

test('a crash takes the rest of the process group with it', async () => {
  const { call } = openPool(legacyPeer());
  const grandchild = Number(textOf(await call('descend')));
  await call('crash');
  await gone(grandchild);
});

test('stop before start and during a connection attempt leaves nothing behind', async () => {
  const never = openPool(legacyPeer());
  await never.pool.stop();
  const early = openPool(legacyPeer());
  early.pool.start();
  await early.pool.stop();
  expect(early.pool.status('legacy')).toBe('connecting');
  expect(failureOf(await early.call('echo')).sent).toBe(false);
});

test('a server that floods stderr is drained, and little of it is logged', async () => {
  const { call, logs } = openPool(legacyPeer());
  expect(textOf(await call('shout'))).toBe('shouted');
  expect(textOf(await call('echo'))).toBe('{}');
  expect(logs.filter((line) => line.message === 'MCP server output').length).toBeLessThanOrEqual(100);
});

test('no more calls are in flight than the server’s limit', async () => {
  const few = openPool({ ...legacyPeer(), maxInFlight: 3 });
  await Promise.all(Array.from({ length: 12 }, async () => few.call('hold')));
  expect(textOf(await few.call('release'))).toBe('3');
  const one = openPool({ ...legacyPeer(), serial: true, maxInFlight: 3 });
  await Promise.all(Array.from({ length: 4 }, async () => one.call('hold')));
  expect(textOf(await one.call('release'))).toBe('1');
});

test('a call that is cancelled while it waits for a slot leaves the queue', async () => {
  const { call } = openPool({ ...legacyPeer(), maxInFlight: 1 });
  await call('echo');
  const first = new AbortController();
  const second = new AbortController();
  const held = call('wait', {}, { signal: first.signal });
  const queued = call('echo', {}, { signal: second.signal });
  second.abort();
  expect(failureOf(await queued)).toMatchObject({ sent: false, error: { type: 'cancelled' } });
  first.abort();
  await held;
  expect(textOf(await call('echo'))).toBe('{}');
});

test('a modern server is called, cancelled and listed over stdio', async () => {
  const { call, logs, listings, until } = openPool(modernPeer());
  expect(textOf(await call('add', { a: 2, b: 3 }))).toBe('5');
  expect(logs.find((line) => line.message === 'MCP server ready')?.fields).toMatchObject({ era: 'modern' });
  expect(JSON.parse(textOf(await call('meta')))).toMatchObject({ traceparent: TRACEPARENT });
  const notes: number[] = [];
  await call('beat', { beats: 5 }, { onProgress: ({ progress }) => notes.push(progress) });
  expect(notes).toEqual([1, 2, 3, 4, 5]);
  const abort = new AbortController();
  const waiting = call('wait', {}, { signal: abort.signal });
  await call('add', { a: 1, b: 1 });
  abort.abort();
  expect(failureOf(await waiting).error.type).toBe('cancelled');
  expect(textOf(await call('events'))).toBe('["waiting","cancelled"]');
  await call('grow');
  await until(() => listings.some(({ tools }) => tools.some((tool) => tool.name === 'extra-1')));
  expect(textOf(await call('extra-1'))).toBe('extra');
});

describe('a modern server that starts slowly', () => {
  const eraOf = ({ logs }: ReturnType<typeof openPool>): unknown =>
    logs.find((line) => line.message === 'MCP server ready')?.fields['era'];

  test('is waited for', async () => {
    const pool = openPool(slowly(modernPeer(), 3));
    expect(textOf(await pool.call('add', { a: 2, b: 3 }))).toBe('5');
    expect(eraOf(pool)).toBe('modern');
  });

  test('and has not answered in time gets the legacy handshake in a fresh process', async () => {
    const server = slowly(modernPeer({ PEER_LEGACY: 'serve' }), 0.5);
    const pool = openPool({ ...server, probeTimeoutMs: 100 });
    expect(textOf(await pool.call('add', { a: 2, b: 3 }))).toBe('5');
    expect([eraOf(pool), pool.statuses.length]).toEqual(['legacy', 1]);
  });

  test('and refuses that handshake is probed for longer the next time', async () => {
    const pool = openPool({ ...slowly(modernPeer(), 0.5), probeTimeoutMs: 500 });
    expect(textOf(await pool.call('add', { a: 2, b: 3 }))).toBe('5');
    expect(eraOf(pool)).toBe('modern');
    expect(pool.statuses[0]?.status).toBe('unavailable');
  });
});
