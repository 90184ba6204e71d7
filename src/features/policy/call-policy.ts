// Decides about each directive that a worker has claimed, once, before anything is sent; writes the decision down with its signal.
// Never lets a call pass while Redis does not answer, nor writes the arguments of a call.
import type { RuledCall, Ruling } from '../../contract/policy/policy.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { createLoop, type Startable } from '../../platform/lifecycle.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import { draftSignal } from '../../store/log/signal-draft.ts';
import { writeSignal } from '../../store/log/stored-signal.ts';
import type { ClaimRef } from '../../store/refs.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { CallRules, ClaimedCall } from '../../worker/attempt/claimed.ts';
import { prepareScripts } from '../../store/scripts.ts';
import { directiveMetadata } from '../../store/log/terminal-signal.ts';
import { callOf } from './call-data.ts';
import { createPolicyCounters, decideCall, decideModels, usesOfRequest } from './counters.ts';
import type { Rules } from './rules.ts';

export interface PolicyOptions {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  readonly journal: Pick<Journal, 'directive'>;
  /** Rules about the calls of a tenant. */
  readonly rulesOf: (tenant: string) => Rules | Promise<Rules>;
  readonly onError: (error: Error) => void;
}

export interface CallPolicy extends CallRules {
  /** Gives back what calls had added that ended while they waited for a person; forgets the counters of requests that are gone. */
  readonly sweeping: Startable;
}

const LOOK_EVERY_MS = 15_000;
const LONGEST_STOP_MS = 1_000;
const LOOK_AGAIN_MS = 60_000;
const BATCH = 100;

export function createCallPolicy({ connection, keys, journal, rulesOf, onError }: PolicyOptions): CallPolicy {
  const counters = createPolicyCounters(connection, keys);
  const run = prepareScripts(connection);

  /** null: the claim was taken over. */
  async function rule(claimed: ClaimedCall): Promise<Ruling | null> {
    const { claim, candidate } = claimed;
    // The first claim of a directive: nothing was decided before.
    if (claim.fence > 1) {
      const [state] = keys.request(claim.requestId);
      const known = await connection.hget(state, `${claim.id}|${fieldOf(claimed)}`);
      if (known !== null) return JSON.parse(known) as Ruling;
    }
    const rules = await rulesOf(tenantOf(claim.requestId));
    const call = callOfClaim(claimed);
    const { models } = candidate.cheaper ?? {};
    let isCounted = false;
    // @guard policy-cheaper
    const ruling =
      models === undefined
        ? await decideCall({ rules, counters }, call, memberOf(claim), () => (isCounted = true))
        : await decideModels({ rules, counters }, call, models);
    const isSilent = isUnruled(ruling);
    // Most calls are of no rule: nothing is written of them. One that is counted must not be counted again, however late its next claim is.
    if (isSilent && !isCounted) return ruling;
    return noted(claimed, ruling, {
      isSilent,
      models,
      field: fieldOf(claimed),
      kept: JSON.stringify(ruling),
    });
  }

  /** Each request of a tool is a call of its own: a later attempt asks anew. */
  async function ruleSampled(
    ...[claimed, asked]: Parameters<CallRules['ruleSampled']>
  ): Promise<Ruling | null> {
    const { claim } = claimed;
    const { models, number, cheaper } = asked;
    const rules = unattended(await rulesOf(tenantOf(claim.requestId)));
    const call: RuledCall = { ...callOfClaim(claimed), kind: 'llm_generate', tool: '', args: {}, models };
    // No id of a directive has this character.
    const name = `~${claim.fence}.${number}`;
    const ruling =
      cheaper === null
        ? await decideCall({ rules, counters }, call, memberOf(claim) + name)
        : await decideModels({ rules, counters }, call, cheaper);
    if (isUnruled(ruling)) return ruling;
    const kept = name + (cheaper === null ? '' : '.cheaper');
    const note = { isSilent: false, models: cheaper ?? models, field: 'policy_sampled', kept };
    return noted(claimed, ruling, note);
  }

  async function noted(
    { claim, directive, digest, origin }: ClaimedCall,
    ruling: Ruling,
    { isSilent, models, field, kept }: Note,
  ): Promise<Ruling | null> {
    const { decision, rule: name, reason, failed } = ruling;
    const data = {
      call_id: claim.id,
      decision,
      rule: name,
      input_digest: digest,
      ...(models === undefined ? {} : { models: [...models] }),
      ...(reason === null ? {} : { reason }),
      ...(failed === undefined ? {} : { failed }),
      metadata: directiveMetadata(directive),
    };
    const signal = writeSignal(claim.requestId, draftSignal('directive.policy_decided', data, origin));
    const args = [claim.id, claim.fence, kept, isSilent ? '' : signal, field];
    const [kind, before] = await run('policy-note', keys.request(claim.requestId), args);
    if (kind !== 'noted') return null;
    return before === kept ? ruling : (JSON.parse(String(before)) as Ruling);
  }

  /** Calls that ended while they waited for a person give back what they had added; counters of a request end with it. */
  async function look(): Promise<void> {
    for (const member of await counters.due('due', BATCH, LOOK_AGAIN_MS)) {
      const at = member.lastIndexOf('/');
      const record = await journal.directive(member.slice(0, at), member.slice(at + 1));
      const isOpen = record !== null && record.endedAt === null;
      if (!isOpen) await counters.settle(member, false);
    }
    // All of them: each request with counters is due at least twice.
    let requests: string[];
    do {
      requests = await counters.due('requests', BATCH, LOOK_AGAIN_MS);
      await Promise.all(requests.map(keepCounters));
    } while (requests.length === BATCH && !sweeping.stopping.aborted);
  }

  async function keepCounters(request: string): Promise<void> {
    const rules = await rulesOf(tenantOf(request));
    const own = usesOfRequest({ tenant: tenantOf(request), request: ownId(request) }, rules.scopes);
    // In this order: a count that is added after the request was gone is of another one.
    const seen = await counters.seenOf(own);
    const [state] = keys.request(request);
    await counters.keep(request, own, seen, await connection.pttl(state));
  }

  const sweeping = createLoop({
    name: 'policy',
    work: look,
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });

  return {
    rule,
    ruleSampled,
    /** A person has decided: the call is made, or it is not and gives back what it had added. */
    settle: async (claim: ClaimRef, isMade: boolean) => counters.settle(memberOf(claim), isMade),
    sweeping,
  };
}

interface Note {
  readonly isSilent: boolean;
  /** Models that were decided about, where they are not those of the directive. */
  readonly models: readonly string[] | undefined;
  readonly field: string;
  /** Value of the field. */
  readonly kept: string;
}

/** Whether no rule has decided, and the default allows. */
function isUnruled({ rule, decision }: Ruling): boolean {
  return rule === null && decision === 'allow';
}

const NO_PERSON = 'A person cannot be asked while a tool waits for its model';

/** Rules about calls that wait for no person: they deny where they would ask, before anything is counted. */
function unattended(rules: Rules): Rules {
  return {
    ...rules,
    rule(call, uses, values) {
      const ruled = rules.rule(call, uses, values);
      if (ruled.kind === 'needs' || ruled.ruling.decision !== 'ask') return ruled;
      const { reason } = ruled.ruling;
      const why = reason === null ? NO_PERSON : `${NO_PERSON}. ${reason}`;
      return { kind: 'ruled', ruling: { ...ruled.ruling, decision: 'deny', reason: why } };
    },
  };
}

/** Field of the decision in the record of the directive. */
function fieldOf({ candidate }: Pick<ClaimedCall, 'candidate'>): string {
  return candidate.cheaper === undefined ? 'policy' : 'policy_cheaper';
}

function memberOf({ requestId, id }: ClaimRef): string {
  return `${requestId}/${id}`;
}

function callOfClaim({ directive, envelope, lane, claim, now }: ClaimedCall): RuledCall {
  const { models = [], spender, agent = '' } = envelope;
  const tenant = tenantOf(claim.requestId);
  return callOf(directive, lane, { models, tenant, caller: spender?.key ?? '', agent, at: now });
}
