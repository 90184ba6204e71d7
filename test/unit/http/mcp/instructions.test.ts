/** What hosts are told of the servers: all within one limit, and nothing of hidden ones.
 *  It must never depend on the words of our own paragraph. */
import { expect, test } from 'vitest';
import { instructionsFor, offeredTools } from '../../../../src/http/mcp/offered-tools.ts';

const MAX_BYTES = 2_048;

test('each server has its words under its name, after our own paragraph', () => {
  const [own = '', ...rest] = instructionsFor([
    { name: 'a', instructions: 'Use a first.' },
    { name: 'silent' },
    { name: 'b', instructions: 'Then b.' },
  ]).split('\n\n');
  expect(own).toContain('outcome_unknown');
  expect(rest).toEqual(['a: Use a first.', 'b: Then b.']);
});

test.each([1, 3, 40, 1_000])('%s talkative servers share the room', (count) => {
  const servers = Array.from({ length: count }, (_, index) => ({
    name: `server-${index}`,
    instructions: index === 0 ? 'short' : 'é'.repeat(2_000),
  }));
  const text = instructionsFor(servers);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_BYTES);
  expect(text).not.toContain('\uFFFD');
  if (count === 3) expect(text).toMatch(/server-0: short\n\nserver-1: é+ …\n\nserver-2: é+ …$/);
});

test('a server that shows no tool says nothing', () => {
  const tool = { name: 'a.t', server: 'a', tool: 't', input_schema: {}, effect: 'once' as const };
  const hidden = { ...tool, name: 'b.t', server: 'b', exposed: false as const };
  const servers = ['a', 'b'].map((name) => ({ name, instructions: `of ${name}` }));
  const { instructions } = offeredTools({ tools: [tool, hidden], servers, agents: [] }, { kind: 'all' });
  expect([instructions.includes('a: of a'), instructions.includes('of b')]).toEqual([true, false]);
});
