/** The model calls of runs that other programs lead: which directive a call is, and what its answer asks for.
 *  A pass that leaves the record is reported once, and goes on. */
import type { IncomingHttpHeaders } from 'node:http';
import { scopedId } from '../../contract/access/tenant.ts';
import { isObject } from '../../contract/json/json-object.ts';
import {
  type DivergedData,
  DIVERGED_SIGNAL,
  PASS_HEADER,
  REPLAY_HEADER,
  RUN_DIRECTIVE_ID,
} from '../../contract/run/foreign-run.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { Spans } from '../../platform/telemetry/traces/spans.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { decodeEnvelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { ModelCall, ModelTarget, TurnsOfRun } from '../model-endpoint/turns-of-run.ts';
import {
  callDigest,
  digestOf,
  firstDifference,
  lastingBody,
  normalName,
  openingShape,
} from './model-identity.ts';
import { markOf, ownerOf, refusalOf } from './owner.ts';
import { reportReplay } from './replay-span.ts';
import type { FoundTurn, RunOwner, RunStore } from './run-store.ts';

export interface TurnsParts {
  readonly store: RunStore;
  readonly spans: Spans;
  readonly journal: Pick<Journal, 'envelope' | 'note'>;
  /** Receives each divergence, for the log. */
  readonly onDiverged: (scopedRequestId: string, data: DivergedData) => void;
}

/** Tool calls of one answer that are matched; further ones count as calls that no turn asked for. */
const MOST_ASKED = 128;

export function createTurns(parts: TurnsParts): TurnsOfRun {
  const { store, spans } = parts;
  /** Calls under way in this process. */
  const callsOf = new WeakMap<ModelTarget, { owner: RunOwner; found: FoundTurn; caller: unknown }>();

  async function turnFor(
    run: string,
    call: ModelCall,
    headers: IncomingHttpHeaders,
    principal: Principal | null,
    failed: ModelTarget | null,
  ) {
    const owner = ownerOf(run, principal);
    const found = await store.turn(owner, {
      digest: callDigest(call),
      shape: openingShape(call),
      mark: markOf(headers[PASS_HEADER]),
      how: howOf(headers),
      failed: failed?.requestId ?? null,
    });
    if (found.kind !== 'turn') throw refusalOf(owner, found);
    const { left } = found;
    if (left !== null) await whileAvailable(async () => diverged(parts, owner, found, left, call));
    const { requestId, pass, turn, traceparent } = found;
    const target = {
      requestId,
      directiveId: RUN_DIRECTIVE_ID,
      traceparent,
      headers: { 'adjutant-pass': String(pass), 'adjutant-turn': String(turn) },
    };
    callsOf.set(target, { owner, found, caller: headers['traceparent'] });
    return target;
  }

  function callOf(target: ModelTarget) {
    const call = callsOf.get(target);
    if (call === undefined) throw new Error(`No call of the request ${target.requestId} is under way here`);
    return call;
  }

  return {
    turnFor,
    refused: async (_run, target) => store.forget(callOf(target).owner, target.requestId),
    async answered(_run, target, { toolCalls, isReplayed }) {
      const { owner, found, caller } = callOf(target);
      const { requestId, turn, traceparent } = found;
      // The span of the request says so where its caller names a trace.
      if (isReplayed && caller === undefined)
        reportReplay(spans, { name: `replay turn ${turn}`, caller, run: traceparent, requestId });
      const calls = toolCalls
        .slice(0, MOST_ASKED)
        .map(({ name, arguments: args }) => [normalName(name), digestOf(args)] as const);
      await store.asked(owner, requestId, { calls, isReplayed });
    },
  };
}

/** A client that repeats a call by itself has not been started again. */
function howOf(headers: IncomingHttpHeaders): 'fresh' | 'retry' | '' {
  if (headers[REPLAY_HEADER] === 'off') return 'fresh';
  return Number(headers['x-stainless-retry-count'] ?? 0) > 0 ? 'retry' : '';
}

async function diverged(
  { journal, onDiverged }: TurnsParts,
  { tenant, run }: RunOwner,
  { pass, traceparent }: FoundTurn,
  left: NonNullable<FoundTurn['left']>,
  { wire, members }: ModelCall,
): Promise<void> {
  const scoped = scopedId(tenant, left.requestId);
  const recorded = bodyOf(await journal.envelope(scoped, RUN_DIRECTIVE_ID));
  const difference =
    recorded === null
      ? { place: '', recorded: 'absent', sent: 'absent' }
      : firstDifference(lastingBody(wire, recorded), lastingBody(wire, members));
  const data = { run, pass, turn: left.turn, ...difference };
  const note = { id: `@diverged.${pass}`, digest: '', data, traceparent };
  await journal.note(scoped, DIVERGED_SIGNAL, note);
  onDiverged(scoped, data);
}

/** The body of a recorded call; null: it is encrypted, lies elsewhere, or is not kept any more. */
function bodyOf(envelope: string | null): Readonly<Record<string, unknown>> | null {
  if (envelope === null) return null;
  const { body } = decodeEnvelope(envelope).directive as { body?: unknown };
  if (typeof body !== 'string') return null;
  const members: unknown = JSON.parse(body);
  return isObject(members) ? members : null;
}
