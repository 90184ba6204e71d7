/** Where an address leads that no page has.
 *  It must never need a browser. */
import { expect, test } from 'vitest';
import { nearPlace } from '../frame/near-place.ts';

test('an address that begins like a place leads to it, any other to none', () => {
  const places = ['/', '/approvals', '/dead-letters'].map((to) => ({ to }));
  expect(nearPlace('/dead', places)?.to).toBe('/dead-letters');
  expect(nearPlace('/approval/x', places)?.to).toBe('/approvals');
  for (const path of ['/', '/x', '/__proto__', '/d', '//evil.example'])
    expect(nearPlace(path, places)).toBeNull();
});
