/** The short form of `npm run test:neighbours`: a part of each attack, on an installation of processes within their memory limits.
 *  It must not judge by time: refusals, memory, and calls of the other tenant that all succeed. */
import { expect, test } from 'vitest';
import { ATTACKS, carryOut } from './attacks.ts';
import { startInstallation } from './installation.ts';
import { broken, memoryOf } from './siege.ts';
import { createVictim } from './victim.ts';

const SCALE = 0.02;
/** Attacks that hold connections are over then. */
const LONGEST_MS = 1_000;

// Issue 33: what one caller can cost the others.
test('the worst caller of each scope fails no call of another tenant', { timeout: 120_000 }, async () => {
  await using installation = await startInstallation();
  const { url, hostileKeys, victimKey } = installation;
  const victim = createVictim(url, victimKey);
  expect((await victim.watch({ calls: 2 })).failures).toEqual([]);
  const prepared = await Promise.all(
    ATTACKS.map(async (attack) => {
      const key = attack.scope === 'none' ? {} : { key: hostileKeys[attack.scope] };
      return [
        attack,
        await attack.prepare({ url, ...key, setupKey: hostileKeys.all, scale: SCALE }),
      ] as const;
    }),
  );
  const faults: string[] = [];
  for (const [attack, shoot] of prepared) {
    const over = new AbortController();
    const watched = victim.watch({ signal: over.signal });
    const statuses = await carryOut(attack, shoot, { scale: SCALE, over: AbortSignal.timeout(LONGEST_MS) });
    over.abort();
    const found = broken({ attack, during: await watched, statuses, after: memoryOf(installation) });
    await installation.revive();
    faults.push(...found.map((fault) => `${attack.name}: ${fault}`));
  }
  expect(faults).toEqual([]);
});
