/** Answers what tools ask: each question twice at once, with different numbers, and records what became of each answer.
 *  It must never answer a question again that one of its answers has ended. */
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHistory } from './history.ts';
import type { Chance } from './random.ts';
import { exchange } from './transport.ts';
import type { WireRequest } from './wire.ts';

interface Stage {
  readonly history: RequestHistory;
  readonly apis: readonly string[];
  readonly chance: Chance;
}

const LOOK_MS = 700;

/** Until nobody needs answers any more. */
export async function respond(stage: Stage, leaving: AbortSignal): Promise<void> {
  const { history, apis, chance } = stage;
  const over = new Set<string>();
  while (!leaving.aborted) {
    const { status, body } = await exchange(chance.pick(apis), 'GET', `/v1/requests/${history.requestId}`);
    const directives = status === 200 ? (body as WireRequest).directives : [];
    for (const { input_id: inputId } of directives.flatMap(({ inputs = [] }) => inputs)) {
      if (over.has(inputId)) continue;
      // Sometimes nobody is there for a while.
      if (chance.percent(30)) continue;
      if (await answerTwice(inputId, stage)) over.add(inputId);
    }
    await delay(LOOK_MS, undefined, { signal: leaving }).catch(() => {});
  }
}

async function answerTwice(inputId: string, { history, apis, chance }: Stage): Promise<boolean> {
  const path = `/v1/requests/${history.requestId}/inputs/${encodeURIComponent(inputId)}`;
  const answers = [1, 2].map(async () => {
    const n = chance.between(1, 1_000_000);
    const body = { action: 'accept', content: { n } };
    const { status } = await exchange(chance.pick(apis), 'POST', path, { body });
    history.answers.push({ inputId, n, status });
    return status;
  });
  return (await Promise.all(answers)).some((status) => status !== 'lost' && status !== 503);
}
