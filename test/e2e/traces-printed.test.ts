/** `adjutant up --traces`: the tree of each request is printed when it has ended, and a flood of them is bounded.
 *  It must not depend on how fast anything is. */
import { expect, test } from 'vitest';
import { cliFolder, startCli } from '../support/cli.ts';
import { URL_OF_A_SERVICE } from '../support/cli-service.ts';
import { untilListed } from '../support/eventually.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { post } from '../support/public-api.ts';

async function startUp(config: object, ...options: string[]) {
  const home = await cliFolder({ 'adjutant.json': config });
  return startCli(['up', '--port', '0', ...options], { cwd: home, env: { ADJUTANT_LOG_LEVEL: 'warn' } });
}

const toolError = { type: 'emit_tool_error', tool_name: 'x', error: 'no' };

test('trees are printed, a few of them a second, and the others are counted', async () => {
  const counting = ownServerEntry('counting.ts', { COUNTER_FILE: 'counter.jsonl' });
  const up = await startUp({ mcpServers: { counting } }, '--traces');
  const url = await up.said(URL_OF_A_SERVICE);
  await untilListed(url, 'counting.read');
  const call = {
    type: 'tool_exec',
    tool_name: 'counting.read',
    arguments: { key: 'k', label: 'l' },
    request_id: 'one',
  };
  await post(`${url}/v1/directives`, call);
  await up.said(/^one {2}request {2}closed .*\n(?:trace .*\n)?└─ counting\.read .* succeeded/m);
  await Promise.all(Array.from({ length: 60 }, () => post(`${url}/v1/directives`, toolError)));
  await up.said(/^… \d+ more requests ended; `.*adjutant trace <request>` draws the tree of one$/m);
  up.child.kill('SIGTERM');
  const { code, stdout } = await up.ended;
  expect(code).toBe(0);
  expect(stdout.match(/request {2}closed/g)?.length).toBeLessThan(61);
});

test('where traces are sent to a collector, none are printed', async () => {
  const up = await startUp({ telemetry: { endpoint: 'http://127.0.0.1:9' } }, '--traces');
  await up.said(/--traces prints nothing: traces are sent to http:\/\/127\.0\.0\.1:9\/v1\/traces/);
  const line = await up.said(/listens on http:\S+/);
  await post(`${line.replace('listens on ', '')}/v1/directives`, toolError);
  up.child.kill('SIGTERM');
  expect((await up.ended).stdout).not.toContain('closed');
});
