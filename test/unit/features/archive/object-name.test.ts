/** Names in the archive: what ids from outside become there.
 *  It must not touch a disk. */
import { expect, test } from 'vitest';
import { folderOf, newestOf, versionName } from '../../../../src/features/archive/object-name.ts';

test('an id leads nowhere else, whatever it is, and two ids never to the same place', () => {
  const ids = ['..', '.', 'a', 'A', 'a:b', 'a.b', 'a_b', '__proto__', 'x'.repeat(128), `${'x'.repeat(127)}y`];
  const folders = [...ids, 'acme~a', 'acme~..'].map(folderOf);
  expect(new Set(folders.map((folder) => folder.toLowerCase())).size).toBe(folders.length);
  for (const folder of folders) {
    expect(folder).toMatch(/^(default|acme)\/[0-9a-f]{2}\/[\w-]{1,125}\/$/);
    expect(folder.split('/').some((part) => part === '.' || part === '..')).toBe(false);
  }
});

test('the version with the most signals counts, and what has another name does not', () => {
  const at = Date.UTC(2026, 10, 22);
  const names = [9, 10, 2].map((sequence) => versionName({ createdAt: at, closedAt: at, sequence }));
  expect(names[0]).toBe('2026-11-22.1795305600000.000000000009.jsonl.gz');
  expect(newestOf([...names, 'x.jsonl.gz', '9999-01-01.99.jsonl.gz.tmp'])).toBe(names[1]);
  expect(newestOf([])).toBeNull();
  // The id was used again: fewer signals, and still the newer one.
  const again = versionName({ createdAt: at + 1, closedAt: at, sequence: 1 });
  expect(newestOf([again, ...names])).toBe(again);
  expect(newestOf(['2026-11-22.000000000011.jsonl.gz', ...names])).toBe(names[1]);
});
