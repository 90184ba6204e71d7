// The waits of directives in the gates of their lanes, read at a request. Costs nothing where no gate holds anything,
// and reads no more directives than one answer shows.
import type { GateWait } from '../contract/directive/flow.ts';
import type { WaitFacts } from '../contract/request/waiting.ts';
import { tenantOf } from '../contract/access/tenant.ts';
import { gateWait } from './flow/gate-wait.ts';
import { ticketIn } from './flow/ticket.ts';
import { decodeEnvelope } from '../store/request/envelope.ts';
import type { Journal } from '../store/request/journal.ts';
import type { DirectiveRecord } from '../store/request/records.ts';

export interface GateLooks {
  look(lane: string, ref: { requestId: string; id: string }): Promise<GateWait>;
  counts(lane: string): Promise<{ waiting: number }>;
}

/** Maximum number of directives of a request; `get` of one directive shows the wait of each further one. */
const MOST_LOOKED_AT = 20;

/** The waits by the id of the directive. Rejects when Redis does not answer. */
export async function gateWaits(
  { journal, gates }: { journal: Pick<Journal, 'envelope'>; gates: GateLooks },
  requestId: string,
  records: readonly DirectiveRecord[],
): Promise<ReadonlyMap<string, WaitFacts>> {
  const waiting = records.filter(mayBeInGate);
  const lanes = [...new Set(waiting.map(({ lane }) => lane))];
  const holding = new Set<string>();
  for (const lane of lanes) if ((await gates.counts(lane)).waiting > 0) holding.add(lane);
  const looked = waiting.filter(({ lane }) => holding.has(lane)).slice(0, MOST_LOOKED_AT);
  const found = await Promise.all(looked.map(({ id, lane }) => look(id, lane)));
  return new Map(found.filter((each) => each !== null));

  async function look(id: string, lane: string): Promise<readonly [string, WaitFacts] | null> {
    const wait = await gates.look(lane, { requestId, id });
    if (wait.kind === 'none' || wait.kind === 'passed' || wait.kind === 'running') return null;
    const json = await journal.envelope(requestId, id);
    const ticket = json === null ? null : ticketIn(decodeEnvelope(json), lane);
    const facts = ticket === null ? null : gateWait(ticket, wait, tenantOf(requestId));
    return facts === null ? null : [id, facts];
  }
}

type InLane = DirectiveRecord & { lane: string };

function mayBeInGate(record: DirectiveRecord): record is InLane {
  return record.lane !== null && (record.status === 'accepted' || record.status === 'waiting');
}
