/** When listeners hear of a changed list of tools, and what a look at an unchanged one costs.
 *  It must never need a catalog. */
import { expect, test } from 'vitest';
import type { ListedTool } from '../../../../src/contract/tool/tool-listing.ts';
import { createListWatch } from '../../../../src/http/mcp/list-watch.ts';
import { offeredTools } from '../../../../src/http/mcp/offered-tools.ts';

function tool(name: string, written: () => void = () => {}): ListedTool {
  const input_schema = { type: 'object', toJSON: written };
  return { name: `s.${name}`, server: 's', tool: name, input_schema, effect: 'once' };
}

test('a tool that has not changed is not digested again, and a changed list is noticed once', async () => {
  let digested = 0;
  let tools = [tool('a', () => (digested += 1))];
  let hint = (): void => {};
  const reads: (() => void)[] = [];
  const stop = new AbortController();
  const watch = createListWatch({
    read: async () => {
      reads.shift()?.();
      return offeredTools({ tools, agents: [] }, { kind: 'all' });
    },
    hints: (mayHaveChanged) => (hint = mayHaveChanged),
    stop: stop.signal,
    gatherMs: 0,
  });
  let changes = 0;
  const changed = Promise.withResolvers<void>();
  const begun = new Promise<void>((resolve) => reads.push(resolve));
  watch.listen(() => {
    changes += 1;
    changed.resolve();
  });
  await begun;
  const again = new Promise<void>((resolve) => reads.push(resolve));
  hint();
  await again;
  tools = [...tools, tool('b')];
  hint();
  await changed.promise;
  stop.abort();
  expect([digested, changes]).toEqual([1, 1]);
});

test('a change of resources or prompts is heard as such', async () => {
  let offers = { resources: true as const, prompts: true as const, revision: '1' };
  const stop = new AbortController();
  const read = Promise.withResolvers<void>();
  let hint = (): void => {};
  const watch = createListWatch({
    read: async () => {
      read.resolve();
      return offeredTools({ tools: [], servers: [{ name: 's', offers }], agents: [] }, { kind: 'all' });
    },
    hints: (mayHaveChanged) => (hint = mayHaveChanged),
    stop: stop.signal,
    gatherMs: 0,
  });
  const heard: string[] = [];
  const both = Promise.withResolvers<void>();
  watch.listen((list) => void (heard.push(list) === 2 && both.resolve()));
  await read.promise;
  offers = { ...offers, revision: '2' };
  hint();
  await both.promise;
  stop.abort();
  expect(heard).toEqual(['resources', 'prompts']);
});
