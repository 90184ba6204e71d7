/** A worker that serves some lanes: what is left for it, and what is said of a pattern without a lane.
 *  It must never start anything. */
import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseConfig } from '../../../../src/config/config.ts';
import { examineLanes } from '../../../../src/cli/doctor/start-check.ts';
import { defineDirective, okResult } from '../../../../src/agents/modules/definitions.ts';
import { NO_MODULES } from '../../../../src/agents/modules/modules.ts';
import { laneNames, onlyLanes } from '../../../../src/service/roles/lane-choice.ts';

const config = parseConfig(
  {
    mcpServers: { files: { command: 'files' }, mail: { command: 'mail' } },
    providers: { demo: { type: 'scripted' } },
  },
  { source: 'test', directory: '/', environment: {} },
);
const sleep = defineDirective({
  type: 'sleep',
  mode: 'queued',
  schema: z.strictObject({}),
  execute: async () => ({ result: okResult(null) }),
});
const all = { config, modules: { ...NO_MODULES, directives: [sleep] } };

test.each([
  [['tool.*'], ['tool.files', 'tool.mail']],
  [
    ['tool.mail', 'llm.*'],
    ['tool.mail', 'llm.demo'],
  ],
  [['custom.sleep'], ['custom.sleep']],
  [['*'], ['tool.files', 'tool.mail', 'llm.demo', 'custom.sleep']],
])('of the lanes %j it serves %j', (patterns, lanes) => {
  const chosen = onlyLanes(all, patterns);
  expect(laneNames(chosen)).toEqual(lanes);
  expect(examineLanes(all, patterns)).toEqual([]);
});

test('a whole kind without a lane is no slip beside one that has lanes, and one when it stands alone', () => {
  const none = { ...all, modules: NO_MODULES };
  expect(examineLanes(none, ['tool.*', 'custom.*', 'webhook.*'])).toEqual([]);
  expect(examineLanes(none, ['custom.*', 'webhook.*'])).toHaveLength(2);
});

test('a pattern without a lane is refused, with what was probably meant', () => {
  const findings = examineLanes(all, ['tol.*', 'tool.fles', 'tool.*']);
  expect(findings.map(({ ok, says }) => [ok, says])).toEqual([
    [false, '"tol.*" matches no lane; did you mean "tool.*"?'],
    [false, '"tool.fles" matches no lane; did you mean "tool.files"?'],
  ]);
});
