/** Keys in the texts of providers.
 *  It must never measure a time: a pattern that is not linear does not come to an end here. */
import { expect, test } from 'vitest';
import { withoutSecrets } from '../../../src/llm/secret-text.ts';

test.each([
  'Bearer hunter2-hunter2',
  'Bearer   hunter2-hunter2',
  'api key: hunter2-hunter2',
  'apiKey = "hunter2-hunter2"',
  '{"authorization":"hunter2-hunter2"}',
  'sk-hunter2-hunter2',
])('%s is hidden', (text) => {
  expect(withoutSecrets(`wrong ${text}`)).not.toContain('hunter2');
});

test.each([
  ['spaces', ' '.repeat(1_000_000)],
  ['spaces after a word that announces a key', `Bearer${' '.repeat(1_000_000)}x`],
  ['many such words', 'api_key: x '.repeat(100_000)],
])('a text of %s is read in one pass', (_, text) => {
  expect(withoutSecrets(text) === text).toBe(true);
});
