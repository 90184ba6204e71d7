/** What is sent to a run while Redis does not answer is refused as that, and by nothing else.
 *  It must not need a Redis. */
import { expect, test } from 'vitest';
import { ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { requireSealing } from '../../../../src/agents/encryption/run-sealing.ts';

const sent = { path: 'content', isEncrypted: false };

test('a run that cannot be looked at is a service that is away, not an internal error', async () => {
  const isSealed = async () => Promise.reject(new Error('Command timed out'));
  await expect(requireSealing({ isSealed }, 'r', sent)).rejects.toThrow(ServiceUnavailable);
});

test('text in clear is refused by an encrypted run, and nothing else', async () => {
  await expect(requireSealing({ isSealed: async () => true }, 'r', sent)).rejects.toThrow(/encrypted/);
  await expect(requireSealing({ isSealed: async () => false }, 'r', sent)).resolves.toBeUndefined();
  await expect(requireSealing({ isSealed: async () => null }, 'r', sent)).resolves.toBeUndefined();
});
