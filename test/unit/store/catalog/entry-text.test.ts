/** The text of a catalog entry, written and read in steps: never otherwise than in one piece.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import { entryText, parseEntry } from '../../../../src/store/catalog/entry-text.ts';

const ODD = ['"', '\\', '\\\\"', '[{', '}],"tools":[', '"tools":[{', '\u2028', '\ud800', '__proto__', ''];
const odd = ODD.map((text) => ({
  name: text,
  input_schema: { [text]: [text, [[]], {}], tools: [{}, text] },
}));
const many = Array.from({ length: 3_000 }, (_, n) => ({
  name: `t${n}`,
  deep: [{ n, text: 'x'.repeat(500) }],
}));

const entry = (tools: readonly unknown[]) => ({
  server: 's',
  faults: [{ tool: 'a', message: '"tools":[' }],
  login: { tools: [1] },
  tools,
  error: 'after the tools',
});

test.each([
  ['none', []],
  ['odd ones', odd],
  ['many', [...many, ...odd]],
])('what is written in steps is read as JSON, and the other way round: %s', async (_, tools) => {
  const given = entry(tools);
  const text = await entryText(given);
  expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(given)));
  expect(await parseEntry(text)).toEqual(JSON.parse(text));
  // As processes write it that know nothing of steps.
  const whole = JSON.stringify(given);
  expect(await parseEntry(whole)).toEqual(JSON.parse(whole));
});

test.each([
  ['other elements than objects', JSON.stringify(entry([1, ...many, 'x', null, [many]]))],
  ['numbers alone', JSON.stringify(entry(many.map((_, n) => n * 1e30)))],
  ['spaces', JSON.stringify(entry(many), null, 2)],
  ['no tools', JSON.stringify({ server: 's', error: 'x'.repeat(100_000) })],
  ['no object', JSON.stringify('x'.repeat(100_000))],
])('a text of another form is read in one piece: %s', async (_, text) => {
  expect(await parseEntry(text)).toEqual(JSON.parse(text));
});

test('a text that is cut is refused', async () => {
  const text = await entryText(entry(many));
  for (const cut of [text.length - 1, text.length / 2])
    await expect(parseEntry(text.slice(0, cut))).rejects.toThrow(SyntaxError);
});

test('others are served between the steps', async () => {
  const large = entry(Array.from({ length: 10 }, () => many).flat());
  let turns = 0;
  const count = (): void => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const text = await entryText(large);
  const written = turns;
  expect(await parseEntry(text)).toEqual(large);
  clearImmediate(next);
  expect(written).toBeGreaterThan(1);
  expect(turns).toBeGreaterThan(written + 1);
});
