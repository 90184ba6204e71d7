/** Waiting for the end of a directive while announcements come at the worst moments.
 *  It must never need a Redis: each answer of the journal is given by hand. */
import { expect, test } from 'vitest';
import { okResult } from '../../../../src/contract/result.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import type { Journal } from '../../../../src/store/request/journal.ts';
import type { DirectiveRecord } from '../../../../src/store/request/records.ts';
import type { Listener } from '../../../../src/store/log/announcement.ts';
import type { Subscriber } from '../../../../src/store/log/subscriber.ts';
import { watchInbox } from '../../../../src/directives/read/await-result.ts';
import { endOf, toolCall } from '../../../support/journal.ts';

const directive = toolCall({ id: 'a', request_id: 'r' });
const end = { ...endOf(directive, okResult('done')), sequence: 3 } as Signal;
const open = { terminal: null } as DirectiveRecord;
const ended = { terminal: 3 } as DirectiveRecord;

function setUp() {
  const looks: PromiseWithResolvers<DirectiveRecord | null>[] = [];
  let hear: Listener = () => {};
  const journal = {
    directive: () => {
      const look = Promise.withResolvers<DirectiveRecord | null>();
      looks.push(look);
      return look.promise;
    },
    log: { at: async (_request: string, sequence: number) => (sequence === 3 ? end : null) },
  } as unknown as Journal;
  const listenInbox: Subscriber['listenInbox'] = (_request, _directive, listener) => {
    hear = listener;
    return () => {};
  };
  const watch = watchInbox({ journal, subscriber: { listenInbox } as Subscriber }, 'r', 'a');
  return { watch, looks, hear: (...heard: Parameters<Listener>) => hear(...heard) };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

const said = (signal: Signal | null, closed = false) => {
  return { sequence: signal?.sequence ?? 3, closed, signal, characters: 100 };
};
const tooLarge = said(null);

test('an announced end is used directly', async () => {
  const { watch, hear, looks } = setUp();
  hear(said(end, true));
  expect(await watch.ended({ fresh: true })).toEqual({ kind: 'ended', signal: end });
  expect(looks).toHaveLength(0);
});

test('an end announced while the journal is being read for something else is not missed', async () => {
  const { watch, hear, looks } = setUp();
  const waiting = watch.ended({ fresh: true });
  hear(null);
  hear(tooLarge);
  looks[0]?.resolve(open);
  await settle();
  looks[1]?.resolve(ended);
  expect(looks).toHaveLength(2);
  expect(await waiting).toEqual({ kind: 'ended', signal: end });
});

test('a gap before the submission does not concern the directive', async () => {
  const { watch, hear, looks } = setUp();
  hear(null);
  looks[0]?.resolve(null);
  await settle();
  const waiting = watch.ended({ fresh: true });
  hear(tooLarge);
  looks[1]?.resolve(ended);
  expect(await waiting).toMatchObject({ kind: 'ended' });
});

test('the end of another directive is not used', async () => {
  const { watch, hear } = setUp();
  const other = { ...end, causationid: 'b', sequence: 2 } as Signal;
  const waiting = watch.ended({ fresh: true });
  hear(said(other));
  hear(said(end));
  expect(await waiting).toEqual({ kind: 'ended', signal: end });
});
