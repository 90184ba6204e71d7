/** Servers that break the rules: each fails only the call it affects, never the process or another call.
 *  It must never pass by luck: every test ends with a call that works. */
import { describe, expect, test } from 'vitest';
import { exists, gone } from '../../support/mcp-process.ts';
import { failureOf, openPool, textOf } from '../../support/mcp-pool.ts';
import { rudePeer } from '../../support/mcp-servers.ts';

describe('a stdio server which', () => {
  test('prints invalid JSON and unrequested answers still works', async () => {
    const { call } = openPool(rudePeer('talks-nonsense'));
    expect(textOf(await call('misbehave'))).toBe('said');
    expect(textOf(await call('echo'))).toBe('said');
  });

  test('never answers a call costs that call its timeout', async () => {
    const { call, statuses } = openPool(rudePeer('says-nothing'));
    await call('echo');
    expect(failureOf(await call('misbehave', {}, { timeoutMs: 50 })).error.type).toBe('timeout');
    expect(textOf(await call('echo'))).toBe('said');
    expect(statuses).toHaveLength(1);
  });

  test('answers with something that is not a result fails the call as invalid_result', async () => {
    const { call } = openPool(rudePeer('answers-rubbish'));
    expect(failureOf(await call('misbehave'))).toMatchObject({
      sent: true,
      error: { type: 'invalid_result', retryable: false },
    });
    expect(textOf(await call('echo'))).toBe('said');
  });

  test('sends an oversized answer fails that call alone', async () => {
    const { call, statuses } = openPool(rudePeer('answers-at-length'));
    expect(failureOf(await call('misbehave'))).toMatchObject({
      sent: true,
      error: { type: 'invalid_result' },
    });
    expect(textOf(await call('echo'))).toBe('said');
    expect(statuses).toHaveLength(1);
  });

  test('sends an answer that is nested too deep fails that call alone', async () => {
    const { call, statuses } = openPool(rudePeer('answers-deeply'));
    expect(failureOf(await call('misbehave'))).toMatchObject({
      sent: true,
      error: { type: 'invalid_result', retryable: false, message: expect.stringContaining('512 levels') },
    });
    expect(textOf(await call('echo'))).toBe('said');
    expect(statuses).toHaveLength(1);
  });

  test('sends its last progress and its answer together loses neither', async () => {
    const { call } = openPool(rudePeer('speaks-in-one-breath'));
    const notes: unknown[] = [];
    expect(textOf(await call('misbehave', {}, { onProgress: (note) => notes.push(note) }))).toBe('said');
    expect(notes).toEqual([{ progress: 1 }]);
  });

  test('closes its stdout and stays is replaced', async () => {
    const { call, logs } = openPool(rudePeer('closes-stdout'));
    await call('echo');
    const pid = Number(logs.find((line) => line.message === 'MCP server ready')?.fields['pid']);
    expect(exists(pid)).toBe(true);
    expect(failureOf(await call('misbehave'))).toMatchObject({ sent: true, error: { type: 'network' } });
    expect(textOf(await call('echo'))).toBe('said');
    expect(exists(pid)).toBe(false);
  });

  // claude-code 35287, webstudio 6066: a server hangs for good after one call.
  test('answers nothing any more is replaced after a call has timed out', async () => {
    const { call, statuses, until } = openPool(rudePeer('hangs'));
    expect(textOf(await call('echo'))).toBe('said');
    expect(failureOf(await call('misbehave', {}, { timeoutMs: 100 })).error.type).toBe('timeout');
    await until(() => statuses.filter(({ status }) => status === 'ready').length === 2);
    expect(statuses.find(({ error }) => error !== undefined)?.error).toBe('it does not answer any more');
    expect(textOf(await call('echo'))).toBe('said');
  });

  // inspector 1123, cursor 3914: a program that was killed in a call was only "Connection closed".
  test.each([
    ['exits', 'exited with code 7: Error: the disk is full'],
    ['is-killed', 'was killed by SIGKILL: Error: the disk is full'],
  ])('%s in a call ends it with how and why', async (habit, reason) => {
    const { call } = openPool(rudePeer(habit));
    await call('echo');
    expect(failureOf(await call('misbehave')).error).toMatchObject({ type: 'network', details: { reason } });
  });

  test('prints its error to stdout ends with it', async () => {
    const { call } = openPool(rudePeer('complains-on-stdout'));
    expect(failureOf(await call('echo', {}, { waitsForServer: false })).error.message).toContain(
      'exited with code 1: Error: API_KEY is not set',
    );
  });

  test('does not start in time is named with its setting and what it printed', async () => {
    const peer = rudePeer('never-starts');
    const server = { ...peer, transport: { ...peer.transport, startMs: 300 } };
    const { call } = openPool(server);
    const { message } = failureOf(await call('echo', {}, { waitsForServer: false })).error;
    expect(message).toContain(`\`${process.execPath} …\` did not answer within 300 ms (start_timeout_ms)`);
  });

  test.each([
    [
      'arguments in its command',
      { command: `${process.execPath} --version` },
      /program alone, .* the rest in `args`/,
    ],
    ['a folder that is missing', { cwd: '/no/such/folder' }, /the folder \/no\/such\/folder does not exist/],
  ])('has %s is not started, and the cause is named', async (_, wrong, message) => {
    const peer = rudePeer('polite');
    const { call } = openPool({ ...peer, transport: { ...peer.transport, ...wrong } });
    expect(failureOf(await call('echo')).error.message).toMatch(message);
  });

  // java-sdk 724, metals 8015, graylog2-server 25322.
  test.each(['knows-no-extensions', 'knows-no-form'])('%s in the handshake is reached', async (habit) => {
    for (const questions of [false, true]) {
      const { call } = openPool({ ...rudePeer(habit), questions });
      expect(textOf(await call('echo'))).toBe('said');
    }
  });

  test('stops reading is replaced before its unread calls fill the memory', async () => {
    const { call, logs } = openPool(rudePeer('stops-reading'));
    await call('echo');
    await call('misbehave', {}, { timeoutMs: 100 });
    const ballast = 'x'.repeat(4 * 1024 * 1024);
    const ends = new Set<string>();
    for (let calls = 0; calls < 40 && !ends.has('network'); calls += 1) {
      ends.add(failureOf(await call('echo', { ballast }, { timeoutMs: 1 })).error.type);
    }
    expect(ends).toEqual(new Set(['timeout', 'network']));
    expect(textOf(await call('echo'))).toBe('said');
    expect(logs.filter((line) => line.message === 'MCP server ready')).toHaveLength(2);
  });

  test('asks for what the client does not offer is refused and still works', async () => {
    const { call } = openPool(rudePeer('asks-back'));
    expect(textOf(await call('misbehave'))).toBe('said');
  });

  test('ends when it is probed gets the legacy handshake', async () => {
    const { call } = openPool(rudePeer('dies-on-probe'));
    expect(textOf(await call('echo'))).toBe('said');
  });

  test('ignores the probe costs one short wait', async () => {
    const { call, logs } = openPool({ ...rudePeer('ignores-the-unknown'), probeTimeoutMs: 100 });
    expect(textOf(await call('echo'))).toBe('said');
    expect(logs.find((line) => line.message === 'MCP server ready')?.fields).toMatchObject({ era: 'legacy' });
  });

  test('never lists its tools does not delay a stop', async () => {
    const { pool, call, until, logs } = openPool(rudePeer('never-lists'));
    const waiting = call('echo');
    await until(() => logs.some(({ fields }) => fields['line'] === 'asked for tools/list'));
    await pool.stop();
    expect(failureOf(await waiting)).toMatchObject({ sent: false, error: { type: 'network' } });
  });

  test('announces a change together with its first list is listed again', async () => {
    const { call } = openPool(rudePeer('changes-with-its-list'));
    await call('echo');
    expect(textOf(await call('late-2'))).toBe('said');
  });

  test('announces changes without end is listed at most once a second', async () => {
    const { pool, listings, until } = openPool(rudePeer('changes-without-end'));
    const readAt: number[] = [];
    pool.subscribe({ onTools: () => readAt.push(performance.now()) });
    pool.start();
    await until(() => listings.length === 4);
    const [, second = 0, , fourth = 0] = readAt;
    expect(fourth - second).toBeGreaterThan(1_900);
  });

  test('does not start reports why', async () => {
    const { pool, statuses, until } = openPool(rudePeer('refuses-to-start'));
    pool.start();
    await until(() => statuses.length > 0);
    expect(statuses[0]).toEqual({
      server: 'rude',
      status: 'unavailable',
      error: 'exited with code 2: the configuration file is missing',
    });
  });

  test('ignores SIGTERM, as its child does, is killed on stop', async () => {
    const { pool, call, logs } = openPool(rudePeer('will-not-leave'));
    await call('echo');
    const pid = Number(logs.find((line) => line.message === 'MCP server ready')?.fields['pid']);
    const told = logs.find((line) => String(line.fields['line']).startsWith('child '));
    const child = Number(String(told?.fields['line']).split(' ')[1]);
    expect([exists(pid), exists(child)]).toEqual([true, true]);
    await pool.stop();
    expect(exists(pid)).toBe(false);
    await gone(child);
  });
});
