// Sends what a firing submits, and keeps which requests of a schedule may be open.
// Must never send a thing under another id than the firing's.
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { Submitted } from './template.ts';

/** Of requests that may be open; what ends leaves the list at the next firing. */
const MOST_REQUESTS = 16;

/** Throws the refusal. Returns whether it was there before; of a run that is not known. */
export async function sent(
  client: Pick<DirectiveClient, 'submit' | 'runs'>,
  submitted: Submitted,
): Promise<boolean> {
  if (submitted.kind === 'run') {
    await client.runs.start(submitted.run);
    return true;
  }
  const { directives } = await client.submit(submitted.directives);
  return directives.every(({ status }) => status === 'existing');
}

/** The field with one more. */
export function withRequest(requests: readonly string[], requestId: string): string {
  const others = requests.filter((each) => each !== requestId);
  return JSON.stringify([requestId, ...others].slice(0, MOST_REQUESTS));
}
