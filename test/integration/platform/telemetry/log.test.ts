/** The log of a real process: a failed directive and a refused request are found by their ids.
 *  It must never read anything but what the process has written. */
import { expect, test } from 'vitest';
import { install } from '../../../support/installation.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';

test('a failed directive is one line with its request, its id and its trace', async () => {
  await using installation = await install();
  const up = await installation.start('up');
  const directive = {
    type: 'tool_exec',
    request_id: 'r',
    id: 'd',
    tool_name: 'counting.no_such_tool',
    arguments: { password: 'hunter2' },
  };
  await fetch(`${up.url}/v1/directives?wait_ms=20000`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
    body: JSON.stringify(directive),
  });
  const line = await up.waitForLine(/a directive failed/);
  expect(JSON.parse(line)).toMatchObject({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    request_id: 'r',
    directive_id: 'd',
    trace_id: TRACE,
    type: 'tool_exec',
    lane: 'tool.counting',
    error: { type: 'unknown_tool', message: expect.any(String) },
  });
  expect(up.lines.filter((each) => each.includes('a directive failed'))).toHaveLength(1);
  expect(up.lines.join('\n')).not.toContain('hunter2');
});
