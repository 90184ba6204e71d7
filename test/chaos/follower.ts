/** A live reader of one log, over any number of connections, each from where the last one was cut.
 *  It must never correct what it receives. */
import { setTimeout as delay } from 'node:timers/promises';
import { frames } from '../support/public-api.ts';
import type { RequestHistory } from './history.ts';
import { ADMIN_KEY } from './transport.ts';

/** `heard` is called with the type of each signal. */
export async function follow(
  history: RequestHistory,
  apis: readonly string[],
  leaving: AbortSignal,
  heard: (type: string) => void = () => {},
): Promise<void> {
  for (let connection = 1; !leaving.aborted; connection += 1) {
    const after = String(history.seen.at(-1)?.sequence ?? 0);
    const api = apis[connection % apis.length] ?? '';
    try {
      for await (const { id, data } of frames(api, history.requestId, { after, key: ADMIN_KEY })) {
        if (leaving.aborted) return;
        if (id === '') continue;
        const signal = JSON.parse(data) as { id: string; type: string };
        history.seen.push({ sequence: Number(id), id: signal.id, connection });
        heard(signal.type);
      }
    } catch {
      // Not there yet, or no answer: it tries again.
    }
    await delay(500);
  }
}
