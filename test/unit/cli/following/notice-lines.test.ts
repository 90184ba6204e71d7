/** Who is notified of an end, at the terminal.
 *  It must not ask a service: the integration test of deliveries does. */
import { expect, test } from 'vitest';
import { noticeNodes, noticeRows } from '../../../../src/cli/following/notice-lines.ts';
import { type Notice, unsentNotice } from '../../../../src/contract/signal/notice.ts';
import type { RequestView } from '../../../../src/contract/request/request-view.ts';

const plain = (_style: unknown, text: string): string => text;
const notice = (more: Partial<Notice> = {}): Notice => ({
  ...unsentNotice('webhook.ab'),
  endpoint: 'mine',
  id: 'mine',
  attempts: 1,
  ...more,
});

test('of a request: the end of its run first, then those of its directives', () => {
  const view = {
    notices: [notice({ status: 'delivered' })],
    directives: [
      {
        id: 'a',
        notices: [notice({ status: 'dead', error: 'timeout', attempts: 13, id: 'mine.redrive-1' })],
      },
      { id: 'b' },
      { id: 'c', notices: [unsentNotice('webhook.cd')] },
      {
        id: 'd',
        notices: [
          notice({ next_attempt_at: '2026-11-23T05:00:00.000Z', attempts: 2, reason: 'network: no\n' }),
        ],
      },
    ],
  } as unknown as RequestView;
  expect(noticeRows(view, plain)).toEqual([
    ['run', 'mine', 'delivered', '1 attempt', 'webhook.ab mine'],
    ['a', 'mine', 'dead: timeout', '13 attempts', 'webhook.ab mine.redrive-1'],
    ['c', 'not accepted yet', 'waiting', '0 attempts', 'webhook.cd'],
    [
      'd',
      'mine',
      'waiting',
      '2 attempts, again at 2026-11-23T05:00:00.000Z',
      'webhook.ab mine',
      'network: no',
    ],
  ]);
});

test('nothing of it is obeyed by a terminal, and a status of a later version is shown', () => {
  const [node] = noticeNodes([notice({ endpoint: 'a\u001B[2Jb\n', status: '__proto__', error: '\u202Ex' })]);
  expect(JSON.stringify(node)).not.toMatch(/\\u001b|\u202E|\\n/);
  expect(node?.state).toEqual(['dim', expect.stringContaining('__proto__')]);
});
