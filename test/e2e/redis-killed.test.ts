/** redis-server is killed and started again while directives come in and run: what was accepted ends exactly once.
 *  It must not count a submission as accepted before its 202. */
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DirectiveView } from '../../src/contract/request-view.ts';
import type { Submission } from '../../src/contract/submission.ts';
import { auditRequest, executionsByLabel, outcome, type ToolResult } from '../support/audit.ts';
import { countingCall } from '../support/calls.ts';
import { install } from '../support/installation.ts';
import { get, post } from '../support/public-api.ts';

const SUBMISSIONS = 500;
const AT_ONCE = 20;
/** Redis is killed when so many submissions have their 202. */
const KILLS_AT = new Set([120, 320]);

/** A folder in memory where there is one: with `everysec` Redis holds back its writes during a slow fsync,
 *  and what it holds back is lost with the process. That is Redis' promise, not ours to test. */
async function dataFolder(): Promise<string> {
  return mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'adjutant-redis-'));
}

/** Until it is accepted: while Redis is away the answer is 503. */
async function submitUntilAccepted(url: string, call: { id: string }): Promise<void> {
  for (;;) {
    const { status, body } = await post<Submission>(`${url}/v1/directives`, call);
    if (status === 202) return;
    expect(status, JSON.stringify(body)).toBe(503);
  }
}

async function ended(url: string, requestId: string, id: string): Promise<void> {
  for (;;) {
    const path = `/v1/requests/${requestId}/directives/${id}?wait_ms=30000`;
    const { status, body } = await get<DirectiveView>(url + path);
    if (status === 200 && body.result !== null) return;
    expect([200, 503], JSON.stringify(body)).toContain(status);
  }
}

test.each(['everysec', 'always'] as const)(
  'kill -9 of redis-server (appendfsync %s) twice during 500 submissions',
  { timeout: 60_000 },
  async (appendfsync) => {
    const dir = await dataFolder();
    await using installation = await install({ redis: { appendonly: true, appendfsync, dir } });
    const { redis } = installation;
    const { url } = await installation.start('up');
    const calls = Array.from({ length: SUBMISSIONS }, (_, index) =>
      countingCall(index % 2 ? 'once' : 'read', index, { requestId: `request-${index}`, delayMs: 10 }),
    );
    let accepted = 0;
    let kills = Promise.resolve();
    const waiting = [...calls];
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (let call = waiting.shift(); call !== undefined; call = waiting.shift()) {
          await submitUntilAccepted(url, call);
          accepted += 1;
          if (KILLS_AT.has(accepted)) kills = redis.kill9().then(async () => redis.restart());
        }
      }),
    );
    await kills;

    const results = new Map<string, ToolResult>();
    for (const { id, request_id: requestId = '' } of calls) {
      await ended(url, requestId, id);
      for (const [key, signal] of await auditRequest(url, requestId, [id])) results.set(key, signal);
    }
    const executions = executionsByLabel(installation.executions());
    for (const { id } of calls) {
      const ran = executions.get(id)?.length ?? 0;
      if (id.startsWith('read')) expect(outcome(results.get(id)), id).toBe('ok');
      // A claim whose answer died with Redis is given up when its lease ends: the worker cannot know that it has it.
      else expect(['ok 1', 'outcome_unknown 0'], id).toContain(`${outcome(results.get(id))} ${ran}`);
    }
    await rm(dir, { recursive: true, force: true });
  },
);
