/** A change of the service from the console: what a second press does, and what is repeated.
 *  It must not need a browser. */
import { QueryClientProvider } from '@tanstack/react-query';
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { expect, test } from 'vitest';
import { TextIds } from '../data/new-id.ts';
import { createQueries, useChange } from '../data/queries.ts';

type Change = ReturnType<typeof useChange<string, void>>;

function changeOf(act: (input: string) => Promise<void>): Change {
  const held: { change: Change | null } = { change: null };
  function Page(): null {
    held.change = useChange(act);
    return null;
  }
  renderToString(createElement(QueryClientProvider, { client: createQueries() }, createElement(Page)));
  if (held.change === null) throw new Error('the page was not drawn');
  return held.change;
}

test('a second press while a change is under way does nothing, a later one does', async () => {
  const sent: string[] = [];
  const answer = Promise.withResolvers<void>();
  const { mutate } = changeOf(async (input) => {
    sent.push(input);
    return answer.promise;
  });
  mutate('first');
  mutate('second');
  await expect.poll(() => sent).toEqual(['first']);
  answer.reject(new Error('refused'));
  await expect.poll(() => (mutate('again'), sent.includes('again'))).toBe(true);
  expect(sent).not.toContain('second');
});

test('the same text has the same id until it was taken', () => {
  const ids = new TextIds();
  const first = ids.of('go on');
  expect(ids.of('go on')).toBe(first);
  expect(ids.of('go back')).not.toBe(first);
  const again = ids.of('go on');
  ids.taken();
  expect(ids.of('go on')).not.toBe(again);
});
