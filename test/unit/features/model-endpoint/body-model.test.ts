/** The name of the model in the JSON text of a request: it alone is replaced.
 *  It must never take text of the caller for JSON. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tokensOfRequest } from '../../../../src/features/model-endpoint/request-tokens.ts';
import { readCall } from '../../../../src/features/model-endpoint/read-call.ts';
import { withModel } from '../../../../src/features/model-endpoint/body-model.ts';

test.each([
  ['{"model":"a"}', '{"model":"x:y"}'],
  ['\n{ "model" : "a" , "n":1.0 }\n', '\n{ "model" : "x:y" , "n":1.0 }\n'],
  ['{"a":{"model":"in"},"model":"out"}', '{"a":{"model":"in"},"model":"x:y"}'],
  ['{"a":"\\"model\\":\\"b\\\\","model":"out"}', '{"a":"\\"model\\":\\"b\\\\","model":"x:y"}'],
  // A reader may take the first one or the last one, and may read the escape.
  ['{"model":"a","mod\\u0065l":"b"}', '{"model":"x:y","mod\\u0065l":"x:y"}'],
  ['{"a":[1,{"b":"]}"}],"model":{"not":"a text"}}', '{"a":[1,{"b":"]}"}],"model":"x:y"}'],
  ['{}', '{}'],
  ['{"n":12345678901234567890,"e":1e400}', '{"n":12345678901234567890,"e":1e400}'],
])('in %j', (text, expected) => {
  expect(withModel(text, 'x:y')).toBe(expected);
});

test('any object keeps its other members, in any white space', () => {
  const members = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue(), { noNullPrototype: true });
  fc.assert(
    fc.property(members, fc.nat({ max: 4 }), (value, indent) => {
      const text = JSON.stringify({ ...value, model: 'a' }, null, indent);
      const replaced: unknown = JSON.parse(withModel(text, 'of "another" name'));
      expect(replaced).toEqual(JSON.parse(JSON.stringify({ ...value, model: 'of "another" name' })));
    }),
  );
});

// A pattern that begins again within each run takes a minute for this body.
test('the tokens of long runs without a space are estimated in one pass over the body', () => {
  const body = JSON.stringify({ messages: `${'a'.repeat(4_095)} `.repeat(2_000) });
  expect(tokensOfRequest(body, 'chat').input).toBeGreaterThan(1_000_000);
  const file = JSON.stringify({ image: 'a'.repeat(1_000_000) });
  expect(tokensOfRequest(file, 'chat').input).toBeLessThan(2_000);
});

// A run would answer one with the recorded bytes of the other.
test('a stream of Google as events and one as an array are two calls', () => {
  const streamed = (query: object): boolean =>
    readCall({ body: { text: '{}', value: {} }, query } as never, 'google_stream', 'm').isStreamed;
  expect([streamed({ alt: 'sse' }), streamed({}), streamed({ alt: ['sse', 'json'] })]).toEqual([
    true,
    false,
    false,
  ]);
});
