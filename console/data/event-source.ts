/** One stream of server-sent events, by fetch: the browser's own reader drops events whose names it does not know.
 *  It must never reconnect: its caller knows from where. */
import { createParser } from 'eventsource-parser';
import type { Problem } from '../../src/contract/problem.ts';
import { Refused } from './api.ts';
import { inTenant } from './tenant.ts';

export interface EventReader {
  opened(): void;
  event(name: string, data: string): void;
}

/** A line that never ends is not read for ever. */
const MOST_CHARACTERS = 32 * 1024 * 1024;

/** Resolves when the service ends the stream; rejects when it is cut. `true`: there is nothing more to come (204). */
export async function readEvents(path: string, reader: EventReader, signal: AbortSignal): Promise<boolean> {
  const headers = { accept: 'text/event-stream' };
  const response = await fetch(inTenant(path), {
    headers,
    credentials: 'same-origin',
    cache: 'no-store',
    signal,
  });
  if (response.status === 204) return true;
  if (!response.ok || response.body === null) throw await refusalOf(response);
  reader.opened();
  const parser = createParser({
    maxBufferSize: MOST_CHARACTERS,
    onEvent: ({ event = 'message', data }) => reader.event(event, data),
    onError: (error) => {
      throw error;
    },
  });
  const text = response.body.pipeThrough(new TextDecoderStream());
  for (const chunks = text.getReader(); ;) {
    const { done, value } = await chunks.read();
    if (done) return false;
    parser.feed(value);
  }
}

async function refusalOf(response: Response): Promise<Error> {
  const problem = (await response.json().catch(() => null)) as Problem | null;
  return problem === null ? new Error(`status ${response.status}`) : new Refused(problem);
}
