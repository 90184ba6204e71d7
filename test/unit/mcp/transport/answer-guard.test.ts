/** What becomes of answers before the protocol's client reads them: tasks among them.
 *  It must never need a server. */
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import { createAnswerGuard, TASK_META } from '../../../../src/mcp/transport/answer-guard.ts';

function checked(result: object): unknown {
  const message = createAnswerGuard().checked({ jsonrpc: '2.0', id: 1, result } as JSONRPCMessage);
  return 'result' in message ? message.result : message;
}

test('a task becomes a result that holds it', () => {
  const task = { resultType: 'task', taskId: 't', status: 'working' };
  expect(checked(task)).toMatchObject({
    resultType: 'complete',
    content: [],
    isError: true,
    _meta: { [TASK_META]: task },
  });
});

test('a result cannot pretend to hold a task, and keeps the rest of its _meta', () => {
  const forged = { content: [], _meta: { [TASK_META]: { taskId: 't', status: 'working' }, kept: 1 } };
  expect(checked(forged)).toEqual({ resultType: 'complete', content: [], _meta: { kept: 1 } });
});
