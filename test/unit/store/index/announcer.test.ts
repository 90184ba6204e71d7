/** Which clock an announcement goes by on a cluster.
 *  It must not need Redis: the test has both clocks in its hand. */
import { expect, test } from 'vitest';
import { createAnnouncer } from '../../../../src/store/index/announcer.ts';

const BEHIND = 1_000_000;

/** Redis is ahead of the process by `BEHIND`, and answers after `answerMs`. */
function announcerOn({ isCluster = true, answerMs = 2 } = {}) {
  let now = 0;
  const written: (readonly [how: string, at: number])[] = [];
  async function run(_script: string, _keys: readonly string[], [afterMs]: readonly unknown[]) {
    const at = now + BEHIND + Number(afterMs);
    written.push(['script', at]);
    now += answerMs;
    return [String(at)];
  }
  async function zadd(_key: string, _lt: string, ...scored: string[]) {
    for (const score of scored.filter((_, index) => index % 2 === 0))
      written.push(['command', Number(score)]);
    return scored.length;
  }
  const connection = { isCluster, zadd } as unknown as Parameters<typeof createAnnouncer>[0];
  const announce = createAnnouncer(connection, { sweep: 'any:sweep' }, run, () => now);
  return {
    announce,
    written,
    pass: (ms: number): void => {
      now += ms;
    },
  };
}

test('right after Redis said what time it is, that time goes on', async () => {
  const { announce, written, pass } = announcerOn();
  await announce(['r/a'], 5_000);
  pass(100);
  expect(await announce(['r/b', 'r/c'], 6_000)).toBe('1006100');
  expect(written).toEqual([
    ['script', 1_005_000],
    ['command', 1_006_100],
    ['command', 1_006_100],
  ]);
});

test('a second later Redis is asked again: it may be another one', async () => {
  const { announce, written, pass } = announcerOn();
  await announce(['r/a'], 0);
  pass(1_000);
  await announce(['r/b'], 0);
  pass(1);
  await announce(['r/c'], 0);
  await announce(['r/d'], 0);
  expect(written.map(([how]) => how)).toEqual(['script', 'command', 'script', 'command']);
});

test('an answer that came late says nothing of the time', async () => {
  const { announce, written } = announcerOn({ answerMs: 251 });
  await announce(['r/a'], 0);
  await announce(['r/b'], 0);
  expect(written.map(([how]) => how)).toEqual(['script', 'script']);
});

test('on one Redis the script reads the clock each time', async () => {
  const { announce, written } = announcerOn({ isCluster: false });
  await announce(['r/a'], 0);
  await announce(['r/b'], 0);
  expect(written.map(([how]) => how)).toEqual(['script', 'script']);
});
