// Sends what a firing submits, and keeps which requests of a schedule may be open.
// Must never send a thing under another id than the firing's.
import type { DirectiveClient, RunCalls } from '../../contract/directive/directive-client.ts';
import { scopedId, tenantOf } from '../../contract/access/tenant.ts';
import type { Schedule } from './schedule-record.ts';
import type { Submitted } from './template.ts';

/** Most open requests of a schedule that can be triggered. */
export const MOST_OPEN = 16;
/** Most requests that may be open: capacity for those that are triggered at once, and for those that `cancel_running` has not ended yet. */
const MOST_REQUESTS = 2 * MOST_OPEN;

/** Those of its requests that have not ended. One that has been forgotten is not open. */
export async function openOf(
  { id, requests }: Pick<Schedule, 'id' | 'requests'>,
  statusOf: (requestId: string) => Promise<'open' | 'closed' | 'none'>,
): Promise<string[]> {
  const tenant = tenantOf(id);
  const found = await Promise.all(requests.map(async (each) => statusOf(scopedId(tenant, each))));
  return requests.filter((_, at) => found[at] === 'open');
}

/** Whether the journal has the request of an instant. */
export async function wasSent(
  { id }: Pick<Schedule, 'id'>,
  requestId: string,
  statusOf: (requestId: string) => Promise<'open' | 'closed' | 'none'>,
): Promise<boolean> {
  return (await statusOf(scopedId(tenantOf(id), requestId))) !== 'none';
}

export interface Sent {
  /** Id of the request within its tenant: the firing's own, or where the template has a key, the one that represents it. */
  readonly requestId: string;
  /** It was there before; of a run that is not known. */
  readonly isRepeat: boolean;
}

/** `traceparent`: what is submitted continues it. Throws the refusal. */
export async function sent(
  client: Pick<DirectiveClient, 'submit'> & { readonly runs: RunCalls },
  submitted: Submitted,
  traceparent: string | undefined,
): Promise<Sent> {
  const { idempotencyKey } = submitted;
  const named = {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  if (submitted.kind === 'run') {
    const { request_id: requestId } = await client.runs.start(submitted.run, named);
    return { requestId, isRepeat: true };
  }
  const { request_id: requestId, directives } = await client.submit(submitted.directives, named);
  return { requestId, isRepeat: directives.every(({ status }) => status === 'existing') };
}

/** The field with one more. */
export function withRequest(requests: readonly string[], requestId: string): string {
  const others = requests.filter((each) => each !== requestId);
  return JSON.stringify([requestId, ...others].slice(0, MOST_REQUESTS));
}
