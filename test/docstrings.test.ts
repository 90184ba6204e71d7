/** Every name that the package exports says what it is, and every entry point shows how it is used.
 *  It must not compile the examples: test/e2e/package.test.ts does, against the packed package. */
import { expect, test } from 'vitest';
import { proseFault } from './support/prose.ts';
import { examplesOf, publicExports } from './support/public-exports.ts';

const EXPORTS = publicExports();

/** Functions that a program begins with. */
const ENTRY_POINTS = [
  'createHttpClient',
  'createAccessClient',
  'createArchiveClient',
  'createAesCodec',
  'createDirectClient',
  'defineAgent',
  'defineDirective',
  'defineScore',
  'defineStrategy',
  'defineTool',
  'followText',
  'privateRedisUrl',
  'readDelta',
  'startTestKit',
  'textOf',
];

test('every exported name has a docstring', () => {
  expect(EXPORTS.length).toBeGreaterThan(600);
  expect(EXPORTS.filter(({ doc }) => doc === null).map(({ file, name }) => `${file} ${name}`)).toEqual([]);
});

/** The interfaces whose methods programs call. */
const CALLED =
  /^(?:\w+Client|TestKit|Faults|ScriptedModel|ScriptedTools|MovedClock|HttpClientOptions|DirectClientOptions)$/;
const MEMBERS = EXPORTS.filter(({ name }) => CALLED.test(name)).flatMap(({ name, members }) =>
  [...members].map(([member, doc]) => ({ name: `${name}.${member}`, doc })),
);

test('every member of a client and of the test kit has a docstring', () => {
  expect(MEMBERS.length).toBeGreaterThan(80);
  expect(MEMBERS.filter(({ doc }) => doc === null).map(({ name }) => name)).toEqual([]);
});

test('the docstrings are in the English of the field', () => {
  const faults = [...EXPORTS, ...MEMBERS].flatMap(({ name, doc }) => {
    const fault = proseFault((doc ?? '').replaceAll(/```[\s\S]*?```/g, ''));
    return fault === null ? [] : [`${name}: "${fault}"`];
  });
  expect([...new Set(faults)]).toEqual([]);
});

test.each(ENTRY_POINTS)('%s has an example', (name) => {
  const doc = EXPORTS.find((each) => each.name === name)?.doc ?? '';
  expect(doc).toContain('@example');
  expect(doc.split('\n')[0]).not.toMatch(/^@/);
});

test.each(
  ENTRY_POINTS.filter((name) => /^(?:create|defineAgent|defineDirective|defineTool|startTestKit)/.test(name)),
)('%s names what it throws', (name) => {
  expect(EXPORTS.find((each) => each.name === name)?.doc).toMatch(/@throws .*`\w+`/);
});

test('the examples import from the package', () => {
  const examples = examplesOf(EXPORTS);
  expect(examples.length).toBeGreaterThanOrEqual(ENTRY_POINTS.length);
  expect(examples.filter((code) => !code.includes("from 'adjutant/"))).toEqual([]);
});
