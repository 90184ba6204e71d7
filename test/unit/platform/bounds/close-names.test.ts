/** Suggestions for mistyped names.
 *  It must never suggest unrelated names. */
import { expect, test } from 'vitest';
import { closeNames } from '../../../../src/platform/bounds/close-names.ts';

const known = ['get-sum', 'get-env', 'echo', 'read_text_file', 'read_media_file', 'write_file'];

test.each([
  ['get_sum', ['get-sum']],
  ['getsum', ['get-sum']],
  ['get-sun', ['get-sum']],
  ['ecoh', ['echo']],
  ['readTextFile', ['read_text_file', 'read_media_file']],
  ['read_file', ['read_media_file', 'read_text_file']],
  ['delete_everything', []],
  ['', []],
  ['***', []],
])('%s', (asked, expected) => {
  expect(closeNames(asked, known)).toEqual(expected);
});

test('a name of any length is compared quickly', () => {
  expect(closeNames('x'.repeat(1_000_000), known)).toEqual([]);
});
