/** The process of an MCP server is killed during calls: each is answered once, and only repeatable ones are repeated.
 *  It must not kill the worker. */
import { expect, test } from 'vitest';
import { auditRequest, executionsByLabel, outcome, outcomes } from '../support/audit.ts';
import { countingCalls } from '../support/calls.ts';
import { install, type Installation } from '../support/installation.ts';
import { follow, post } from '../support/public-api.ts';

const REQUEST = 'server-killed';
const EACH = 100;
/** The server is killed after this many directives have ended. */
const KILLS_AT = [20, 70];

/** The youngest process that has executed calls. */
function killServer(installation: Installation): number {
  const pid = installation.serverPids().at(-1) ?? 0;
  process.kill(pid, 'SIGKILL');
  return pid;
}

test('of 200 calls each has one result; repeatable ones are repeated, others are not', async () => {
  await using installation = await install({ server: { lane: { concurrency: 16 } } });
  const { url } = await installation.start('up');
  const fields = { max_retries: 5, retry_backoff_ms: 20 };
  const calls = countingCalls(['idempotent', 'once'], EACH, { requestId: REQUEST, delayMs: 200, fields });
  expect((await post(`${url}/v1/directives`, { directives: calls })).status).toBe(202);

  const killed = new Set<number>();
  let ended = 0;
  for await (const { type } of follow(url, REQUEST)) {
    if (type !== 'ai.tool.result') continue;
    ended += 1;
    if (KILLS_AT.includes(ended)) killed.add(killServer(installation));
  }

  expect(killed.size, 'servers killed').toBe(KILLS_AT.length);
  const results = await auditRequest(
    url,
    REQUEST,
    calls.map(({ id }) => id),
  );
  const executions = executionsByLabel(installation.executions());
  const [idempotent, once] = ['idempotent', 'once'].map((tool) =>
    calls.filter(({ id }) => id.startsWith(tool)).map(({ id }) => id),
  );
  expect(outcomes((idempotent ?? []).flatMap((id) => results.get(id) ?? []))).toEqual({ ok: EACH });
  for (const id of once ?? []) {
    expect(executions.get(id)?.length ?? 0, `${id} ran at most once`).toBeLessThanOrEqual(1);
    if (outcome(results.get(id)) === 'ok') expect(executions.get(id)).toHaveLength(1);
    else
      expect(results.get(id)?.data.result).toMatchObject({
        error: { type: 'network', retryable: false, details: { outcome: 'unknown' } },
      });
  }
  // The kill must have hit a call: otherwise the test shows nothing.
  expect((once ?? []).filter((id) => outcome(results.get(id)) !== 'ok').length).toBeGreaterThan(0);
  expect((idempotent ?? []).filter((id) => (executions.get(id)?.length ?? 0) > 1).length).toBeGreaterThan(0);
});
