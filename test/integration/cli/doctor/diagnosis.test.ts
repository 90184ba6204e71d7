/** The doctor's findings about real servers, working and broken: each fault with its cause and a fix.
 *  It must never leave a server's process behind. */
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import type { Finding } from '../../../../src/cli/doctor/finding.ts';
import { parseConfig } from '../../../../src/config/config.ts';
import { examineRedis, examineServers } from '../../../../src/cli/doctor/diagnosis.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { gone } from '../../../support/mcp-process.ts';
import {
  legacyPeer,
  modernPeer,
  namedTools,
  rudePeer,
  slowly,
  startLegacyPeer,
} from '../../../support/mcp-servers.ts';
import { freePort } from '../../../support/process.ts';
import { startRedis } from '../../../support/redis.ts';

async function examine(
  server: Record<string, unknown>,
  options: Parameters<typeof examineServers>[1] = {},
): Promise<Finding> {
  const config = parseConfig(
    { mcpServers: { it: server } },
    { source: 'test', directory: process.cwd(), environment: {} },
  );
  const [finding] = await Promise.all(examineServers(config, options));
  if (finding === undefined) throw new Error('Nothing was looked at.');
  return finding;
}

function command({ transport }: ReturnType<typeof legacyPeer>): Record<string, unknown> {
  return { command: transport.command, args: transport.args };
}

describe('an MCP server', () => {
  test.each([
    ['of the legacy era', legacyPeer()],
    ['of the modern era', modernPeer()],
  ])('%s is connected, its tools are counted and the time is measured', async (_, server) => {
    const finding = await examine(command(server));
    expect(finding).toMatchObject({ subject: 'mcp it', ok: true, fix: null });
    expect(finding.says).toMatch(/^connected over stdio in \d+ ms, [1-9]\d* tools listed in \d+ ms$/);
  });

  test('over HTTP is connected with its credentials, or the finding reports that they are missing', async () => {
    const { child, options } = await startLegacyPeer({ PEER_TOKEN: 'secret' });
    const url = 'url' in options.transport ? options.transport.url : '';
    try {
      expect(await examine({ url, bearer_token: 'secret' })).toMatchObject({
        ok: true,
        says: expect.stringMatching(/^connected over http /),
      });
      const denied = await examine({ url, bearer_token: 'wrong' });
      expect(denied).toMatchObject({ ok: false, says: expect.stringContaining('denied') });
      expect(denied.fix).toMatch(/mcpServers\.it\.bearer_token/);
      expect(JSON.stringify(denied)).not.toContain('wrong');
    } finally {
      await child.kill9();
    }
  });

  test('with a command that does not exist names it', async () => {
    const finding = await examine({ command: 'no-such-program', args: ['--token', 'secret'] });
    expect(finding).toMatchObject({ ok: false, says: expect.stringMatching(/cannot be started.*ENOENT/) });
    expect(finding.fix).toMatch(/no-such-program.*mcpServers\.it\.command/);
    expect(finding.fix).not.toContain('secret');
  });

  test('in a folder that does not exist names the folder', async () => {
    const finding = await examine({ command: process.execPath, cwd: 'no/such/folder' });
    expect(finding).toMatchObject({ ok: false });
    expect(finding.fix).toMatch(/no\/such\/folder.*mcpServers\.it\.cwd/);
  });

  test('that ends at once is quoted, and the fix is to run it by hand', async () => {
    const finding = await examine(command(rudePeer('refuses-to-start')));
    expect(finding).toMatchObject({ ok: false });
    expect(finding.says).toMatch(/exited with code 2.*the configuration file is missing/);
    expect(finding.fix).toMatch(/by hand/);
  });

  test('behind a URL without a listener has the fix to start it', async () => {
    const url = `http://127.0.0.1:${await freePort()}/mcp?key=secret`;
    const finding = await examine({ url });
    expect(finding).toMatchObject({ ok: false, says: expect.stringContaining('ECONNREFUSED') });
    expect(finding.fix).toMatch(/mcpServers\.it\.url \(http:\/\/127\.0\.0\.1:\d+\/mcp\)/);
  });

  test('that never lists its tools is abandoned, and its process ended', async () => {
    const finding = await examine(command(rudePeer('never-lists')), { limitMs: 1_000 });
    expect(finding).toMatchObject({ ok: false, says: 'no answer within 1000 ms' });
    expect(finding.fix).toMatch(/what it waits for/);
    expect(finding.fix).not.toMatch(/correct/);
  });

  test('with a wrong description of a tool is fine otherwise', async () => {
    const finding = await examine(command(namedTools([{ raw: { name: 'bad' } }, 'good'])));
    expect(finding).toMatchObject({
      ok: true,
      says: expect.stringContaining('its tool "bad" has no input schema, and is left out'),
      fix: expect.stringContaining('author'),
    });
  });

  test('that starts slowly is waited for', async () => {
    expect(await examine(command(slowly(modernPeer(), 3)))).toMatchObject({ ok: true });
  });

  // Issue 36: after `adjutant init` doctor was silent for 30 s, and then failed, while npx downloaded the servers.
  test('that is still downloaded is named after five seconds, with the command that downloads it', async () => {
    const npx = join(await mkdtemp(join(tmpdir(), 'adjutant-doctor-')), 'npx');
    await writeFile(npx, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const lines: string[] = [];
    const interrupt = new AbortController();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const examined = examine(
      { command: npx },
      { interrupt: interrupt.signal, onSlow: (line) => lines.push(line) },
    );
    vi.advanceTimersByTime(5_000);
    vi.useRealTimers();
    interrupt.abort();
    await examined;
    expect(lines).toEqual(['server it is still starting: at its first start npx downloads it']);
  });

  test('is left without a process', async () => {
    const script = `process.stderr.write('pid ' + process.pid + '\\n'); process.exit(7)`;
    const { says } = await examine({ command: process.execPath, args: ['-e', script] });
    const pid = Number(/pid (\d+)/.exec(says)?.[1]);
    expect(pid).toBeGreaterThan(0);
    await gone(pid);
  });
});

describe('a Redis', () => {
  const faults = async (url: string): Promise<(readonly [string, string | null])[]> =>
    (await examineRedis(url, 'adjutant'))
      .filter(({ ok }) => !ok)
      .map(({ subject, fix }) => [subject, fix] as const);

  test('that keeps everything is fine', async () => {
    await using redis = await startRedis({ appendonly: true });
    const findings = await examineRedis(redis.url, 'adjutant');
    expect(findings.map(({ subject, ok }) => [subject, ok])).toEqual([
      ['redis', true],
      ['eviction', true],
      ['persistence', true],
    ]);
  });

  test('that does not flush its file is a fault', async () => {
    await using redis = await startRedis({ appendonly: true, appendfsync: 'no' });
    expect(await faults(redis.url)).toEqual([['persistence', expect.stringContaining('appendfsync')]]);
  });

  test('that asks for another password points at the URL, without showing the password', async () => {
    await using redis = await startRedis();
    const operator = connectRedis(redis.url, 'commands');
    await operator.call('CONFIG', 'SET', 'requirepass', 'right');
    await closeRedis(operator);
    const findings = await examineRedis(redis.url.replace('//', '//:wrong@'), 'adjutant');
    expect(findings).toMatchObject([{ subject: 'redis', ok: false, fix: expect.stringMatching(/password/) }]);
    expect(findings[0]?.says).not.toMatch(/:wrong@/);
  });

  test('that does not listen has the fix to start it', async () => {
    const findings = await examineRedis(`redis://127.0.0.1:${await freePort()}`, 'adjutant');
    expect(findings).toMatchObject([
      { subject: 'redis', ok: false, says: expect.stringContaining('ECONNREFUSED') },
    ]);
    expect(findings[0]?.fix).toMatch(/REDIS_URL/);
  });
});
