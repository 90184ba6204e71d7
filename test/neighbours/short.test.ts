/** The short form of `npm run test:neighbours`: a part of every attack at the same time, on an installation of processes within their memory limits.
 *  It must not judge by time: refusals, memory, and calls of the other tenant that all succeed. */
import { expect, test } from 'vitest';
import { ATTACKS, carryOut } from './attacks.ts';
import { startInstallation } from './installation.ts';
import { brokenBounds, memoryOf, taken } from './siege.ts';
import { createVictim } from './victim.ts';

const SCALE = 0.02;
/** Attacks that hold connections are over then. */
const LONGEST_MS = 1_500;

// Issue 33: what one caller can cost the others.
test('the worst callers of all scopes together fail no call of another tenant', async () => {
  await using installation = await startInstallation();
  const { url, hostileKeys, victimKey } = installation;
  const victim = createVictim(url, victimKey);
  const prepared = await Promise.all(
    ATTACKS.map(async (attack) => {
      const key = attack.scope === 'none' ? {} : { key: hostileKeys[attack.scope] };
      const shoot = await attack.prepare({ url, ...key, setupKey: hostileKeys.all, scale: SCALE });
      return [attack, shoot] as const;
    }),
  );
  const calm = new AbortController();
  const watched = victim.watch({ signal: calm.signal });
  const over = AbortSignal.timeout(LONGEST_MS);
  const faults = await Promise.all(
    prepared.map(async ([attack, shoot]) => {
      const statuses = await carryOut(attack, shoot, { scale: SCALE, over });
      return taken({ attack, statuses }).map((fault) => `${attack.name}: ${fault}`);
    }),
  );
  calm.abort();
  expect([
    ...faults.flat(),
    ...brokenBounds({ during: await watched, after: memoryOf(installation) }),
  ]).toEqual([]);
});
