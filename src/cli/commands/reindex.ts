/** `adjutant reindex`: has the list of requests built anew, and shows how far it is.
 *  It must never end with success before every request is in the list. */
import { pause } from '../../lifecycle.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { Invocation } from '../invocation.ts';

/** So far may the processes fall behind, so that Redis is not filled with what they have to read. */
const MOST_BEHIND_MS = 5_000;
/** Of a list that is up to date: its rows are written that long after a change. */
const CURRENT_MS = 1_000;
const LOOK_EVERY_MS = 500;
/** What is being written at the moment counts as written: the list has to be current for as many looks. */
const LOOKS = 3;

export async function reindex({ client, terminal, json, interrupt }: Invocation): Promise<ExitCode> {
  let found = 0;
  let cursor: string | undefined;
  do {
    const step = await client.reindex({ cursor });
    found += step.noted;
    cursor = step.next ?? undefined;
    await untilBehind(MOST_BEHIND_MS, 1);
  } while (cursor !== undefined && !interrupt.aborted);
  await untilBehind(CURRENT_MS, LOOKS);
  terminal.status('');
  if (interrupt.aborted) return EXIT.interrupted;
  const { total } = (await client.requests({ limit: 1 })).counts;
  terminal.out(json ? JSON.stringify({ found, total }) : `${found} requests found, ${total} listed`);
  return EXIT.done;

  /** Until the list is less behind than that, at so many looks in a row. */
  async function untilBehind(ms: number, looks: number): Promise<void> {
    for (let current = 0; current < looks && !interrupt.aborted;) {
      await pause(LOOK_EVERY_MS, interrupt);
      const { lag_ms, counts } = await client.requests({ limit: 1 });
      terminal.status(`${found} requests found, ${counts.total} listed`);
      current = lag_ms < ms ? current + 1 : 0;
    }
  }
}
