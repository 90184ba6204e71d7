/** Many answers that are written at once on a real Redis, whose connection is cut under them: each is whole in its log, in order, once.
 *  It must never rely on how fast anything is. */
import { expect, test } from 'vitest';
import type { ToolExec } from '../../../src/contract/directive/work-directive.ts';
import { createReporter, type Reporter } from '../../../src/worker/record/reporter.ts';
import { originOf } from '../../support/journal.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';
import type { ClaimRef } from '../../../src/store/refs.ts';

const redis = useRedis();
const open = eachTest(() => openStore(redis.url));

const ANSWERS = 60;
const PIECES = 40;

interface Answer {
  readonly call: ToolExec;
  readonly reporter: Reporter;
}

async function begin(): Promise<Answer> {
  const call = await open.accepted();
  const claim: ClaimRef = await open.claimed(call);
  const reporter = createReporter({
    log: open.journal.log,
    claim,
    origin: { ...originOf(call), attempt: 1 },
    signal: new AbortController().signal,
    givenUp: new AbortController().signal,
    onLost: () => expect.fail('the claim was lost'),
    onError: (error) => expect.fail(String(error)),
  });
  return { call, reporter };
}

function say({ call, reporter }: Answer, piece: number): void {
  reporter.report('ai.llm.delta', {
    call_id: call.id,
    chunk_type: 'content',
    delta: `${piece} `,
    metadata: {},
  });
}

/** What the log has of it. */
async function written({ call }: Answer) {
  const log = await open.log(call.request_id);
  const deltas = log.flatMap((signal) => (signal.type === 'ai.llm.delta' ? [signal.data] : []));
  return {
    text: deltas.map(({ delta }) => delta).join(''),
    numbers: deltas.map(({ seq }) => seq),
    sequences: log.map(({ sequence }) => sequence),
  };
}

const upTo = (count: number, first = 0): number[] =>
  Array.from({ length: count }, (_, index) => first + index);

async function cutAll(): Promise<void> {
  await using other = await openStore(redis.url);
  await other.connection.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
}

test('many answers at once are whole, in order and written once, though their connection is cut', async () => {
  const answers = await Promise.all(upTo(ANSWERS).map(begin));
  await open.connection.config('RESETSTAT');
  for (const piece of upTo(PIECES)) {
    for (const answer of answers) say(answer, piece);
    if (piece % 10 === 5) await cutAll();
    await open.connection.ping();
  }
  // Right behind the last pieces, which may wait for others.
  await Promise.all(answers.map(({ reporter }) => reporter.close()));
  const stats = await open.connection.info('commandstats');
  const expected = upTo(PIECES).join(' ') + ' ';
  let signals = 0;
  for (const answer of answers) {
    const { text, numbers, sequences } = await written(answer);
    expect(text).toBe(expected);
    expect(numbers).toEqual(upTo(numbers.length));
    expect(sequences).toEqual(upTo(sequences.length, 1));
    signals += numbers.length;
  }
  expect(Number(/cmdstat_rpush:calls=(\d+)/.exec(stats)?.[1])).toBe(signals);
  expect(Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1])).toBeLessThan(signals / 2);
});
