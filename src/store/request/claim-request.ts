// Makes a claim, and announces a check by the sweeper at the end of its lease. Never makes a claim without that: the
// death of its worker would be found late.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { Announce } from '../index/announcer.ts';
import type { ClaimRequest } from './journal.ts';
import type { KeySpace } from '../keys.ts';
import type { RunScript, ScriptReply } from '../scripts.ts';
import { writeSignal } from '../log/stored-signal.ts';

/** How early an attempt may begin: BullMQ delays by the workers' clocks, the journal judges by Redis'. */
export const EARLY_SLACK_MS = 20;

/** As `claim_directive` answers. What was agreed for earlier stays. */
export async function requestClaim(
  run: RunScript,
  { connection, keys, announce }: { connection: RedisConnection; keys: KeySpace; announce: Announce },
  request: ClaimRequest,
): Promise<ScriptReply> {
  const { requestId, id, leaseMs } = request;
  const ofRequest = keys.request(requestId);
  const args = claimArguments(request);
  if (!connection.isCluster) return run('claim', [...ofRequest, keys.sweep], args);
  // The index is in another slot.
  const announcing = announce([`${requestId}/${id}`], leaseMs);
  const [reply] = await Promise.all([run('claim', ofRequest, args), announcing]);
  return reply;
}

function claimArguments({ requestId, id, digest, leaseMs, token, started, lane = '' }: ClaimRequest) {
  return [id, digest, leaseMs, EARLY_SLACK_MS, token, started ? writeSignal(requestId, started) : '', lane];
}
