/** One model call from its request to its answer: where it is kept, whether it is submitted, joined or replayed, and what its caller gets.
 *  It must never submit a call twice that is under way, nor cancel one that another caller waits for. */
import type { ApiReply, ApiRequest } from '../../http/app.ts';
import { hash } from 'node:crypto';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { Directive, SubmittedDirective } from '../../contract/directive/directive.ts';
import { IDEMPOTENCY_KEY, keyedIdsOf } from '../../contract/directive/keyed-ids.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import type { ModelTable } from '../../contract/model/model-name.ts';
import { familyOf } from '../../contract/model/model-wire.ts';
import type { RawTurn } from '../../contract/model/raw-answer.ts';
import { DirectiveRefused, problem, type ProblemCode, ServiceUnavailable } from '../../contract/problem.ts';
import type { DirectiveView } from '../../contract/request/request-view.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { FeatureShared } from '../../http/api.ts';
import { createDepartures, type Departures, type SharedWaits } from '../../http/mcp/calls/departures.ts';
import { submissionOptions } from '../../http/served-operation.ts';
import { createSemaphore } from '../../platform/bounds/semaphore.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import { answerCaller, type Given } from './answer-caller.ts';
import { namedModel, type NamedModel } from './model-choice.ts';
import { passedOn } from './provider-request.ts';
import type { ModelCall, ModelTarget, TurnOfRun, TurnsOfRun } from './turns-of-run.ts';

/** Parts of the endpoint that each tenant has. */
export interface TenantCalls {
  /** The service's own client: a call is followed, and cancelled, on behalf of the service. */
  readonly own: DirectiveClient;
  readonly waits: SharedWaits;
}

export interface EndpointOptions {
  /** The client with the rights of the caller. */
  readonly client: DirectiveClient;
  /** Those of the caller's tenant. */
  readonly tenant: () => TenantCalls;
  readonly principal: () => Principal | null;
  /** Known models; `recheck` reads them again. */
  readonly models: { current(): Promise<ModelTable>; recheck(): Promise<ModelTable> };
  /** Runs that keep model calls. null: there are none. */
  readonly turns: TurnsOfRun | null;
  /** How long a call goes on for a caller that is gone, milliseconds. SDKs wait up to 8,000 before a retry. */
  readonly graceMs: number;
  readonly onError: (error: Error) => void;
}

/** Retries of the service, with the backoff of the SDKs: a caller without an SDK has them, too. */
const RETRIES = {
  max_retries: 2,
  retry_backoff_ms: 500,
  backoff: 'exponential',
  max_backoff_ms: 8_000,
  jitter: 0.25,
} as const;

/** Id of the one directive of a request that holds a call without a run. */
const CALL_ID = 'call';
/** An SDK gives up within 10 minutes, and repeats a call whose answer it has lost at once. */
const RETRIED_WITHIN_MS = 660_000;
const LOST_WITHIN_MS = 30_000;

/** Large answers that a process gives at once: each is in memory as a whole, some times. */
const LARGE_AT_ONCE = 4;

/** A call that has a place. */
interface Placed {
  readonly target: TurnOfRun;
  /** null: the call belongs to no run. */
  readonly run: string | null;
  readonly state: 'new' | 'open' | 'ended';
  /** First attempt whose answer the caller may read: earlier ones have failed. */
  readonly from: number;
  /** Name under which a repeat of the call finds it. Absent: it has an id that the repeat knows. */
  readonly name?: string;
}

interface Found {
  readonly state: Placed['state'] | 'failed';
  readonly from: number;
}

const NEW = { state: 'new', from: 1 } as const;

/** A failed call that is not tried again is answered with its failure. */
function asEnded({ state, from }: Found): Pick<Placed, 'state' | 'from'> {
  return { state: state === 'failed' ? 'ended' : state, from };
}

export function createModelEndpoint(options: EndpointOptions, shared: FeatureShared) {
  const { client, turns } = options;
  const departures = departuresOf(shared.stop, options);
  const large = createSemaphore(LARGE_AT_ONCE);

  async function placed(call: ModelCall, { headers }: ApiRequest, run: string | null): Promise<Placed> {
    if (run === null) return placedAlone(call, headers);
    if (turns === null)
      throw new DirectiveRefused(
        problem('not_found', { detail: 'This service keeps no runs of other programs.' }),
      );
    const principal = options.principal();
    const first = await turns.turnFor(run, call, headers, principal, null);
    const found = await stateOf(first);
    if (found.state !== 'failed') return { target: first, run, ...asEnded(found) };
    const target = await turns.turnFor(run, call, headers, principal, first);
    return { target, run, ...asEnded(await stateOf(target)) };
  }

  async function placedAlone(call: ModelCall, headers: ApiRequest['headers']): Promise<Placed> {
    const { waits } = options.tenant();
    const caller = options.principal()?.id ?? '';
    const key = headers['idempotency-key'];
    const retry = Number(headers['x-stainless-retry-count'] ?? 0);
    if (key !== undefined) return placedUnder(call, key, { caller, retry });
    const name = callName(call, caller);
    if (retry > 0) {
      const requestId = await waits.markedBy(name).catch(() => null);
      const target = requestId === null ? null : { requestId, directiveId: CALL_ID };
      const found = target === null ? NEW : await stateOf(target);
      if (target !== null && (found.state === 'open' || found.state === 'ended'))
        return { target, run: null, ...asEnded(found), name };
    }
    const target = { requestId: `model-${newIdentifier()}`, directiveId: CALL_ID };
    // A retry that finds no mark is a call of its own.
    void waits.mark(name, target.requestId, RETRIED_WITHIN_MS).catch(() => {});
    return { target, run: null, ...NEW, name };
  }

  /** The same key is the same call; where it has failed, a retry of an SDK is another one. */
  async function placedUnder(
    call: ModelCall,
    key: unknown,
    { caller, retry }: { caller: string; retry: number },
  ): Promise<Placed> {
    const first = keyedTarget(key, caller);
    const found = await stateOf(first, call);
    if (found.state !== 'failed' || !(retry > 0)) return { target: first, run: null, ...asEnded(found) };
    const target = keyedTarget(`${String(key)}.${retry}`, caller);
    return { target, run: null, ...asEnded(await stateOf(target, call)) };
  }

  /** `same`: the call that its content must be, where its caller names it. */
  async function stateOf({ requestId, directiveId }: ModelTarget, same?: ModelCall): Promise<Found> {
    const view = await options.tenant().own.directive(requestId, directiveId);
    if (view === null) return NEW;
    if (same !== undefined && !isSame(view.directive, same)) throw keyConflict();
    const from = view.result?.attempt ?? view.attempts + (view.status === 'waiting' ? 1 : 0);
    if (view.status === 'failed' || isLost(view)) return { state: 'failed', from };
    return { state: view.status === 'succeeded' ? 'ended' : 'open', from };
  }

  /** A call that is refused leaves no turn in its run. */
  async function submitInRun(call: ModelCall, request: ApiRequest, placement: Placed): Promise<void> {
    const { run, target } = placement;
    try {
      await submit(call, request, placement);
    } catch (error) {
      if (run !== null && error instanceof DirectiveRefused)
        await turns?.refused(run, target).catch(options.onError);
      throw error;
    }
  }

  /** Another caller of the run may submit the same call at the same time, in a body that differs in what is volatile. */
  async function submit(call: ModelCall, request: ApiRequest, { target, run }: Placed): Promise<void> {
    const named = await nameOf(call);
    const headers = passedOn('headers', request.headers);
    const query = passedOn('query', request.query as Record<string, unknown>);
    const directive: SubmittedDirective = {
      type: 'llm_request',
      request_id: target.requestId,
      id: target.directiveId,
      wire: call.wire,
      ...named,
      body: call.body,
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(Object.keys(query).length === 0 ? {} : { query }),
      ...RETRIES,
    };
    const { traceparent = target.traceparent } = submissionOptions(
      request.headers as { traceparent?: string },
    );
    try {
      await client.submit(directive, traceparent === undefined ? {} : { traceparent });
    } catch (error) {
      if (isRefused(error, 'invalid_body') && error.problem.errors?.[0]?.path === 'body')
        throw tooLarge(error);
      if (run === null || !isRefused(error, 'id_conflict')) throw error;
    }
  }

  async function nameOf({ model, wire }: ModelCall): Promise<NamedModel> {
    const family = familyOf(wire);
    try {
      return namedModel(model, family, await options.models.current());
    } catch {
      return namedModel(model, family, await options.models.recheck());
    }
  }

  return {
    async handle(call: ModelCall, request: ApiRequest, reply: ApiReply, run: string | null): Promise<void> {
      const place = shared.places.take(request, reply.raw);
      const calls = options.tenant();
      const { own } = calls;
      const placement = await placed(call, request, run);
      const { target, state } = placement;
      if (state === 'new') await submitInRun(call, request, placement);
      const isReplayed = state === 'ended';
      const join = { requestId: target.requestId, id: target.directiveId };
      // A run keeps its calls: an agent that died comes back for the answer, however late.
      const leave = placement.run === null && !isReplayed ? departures(calls).join(join) : () => {};
      let given: Given = 'cut';
      try {
        given = await answerCaller(reply, {
          client: own,
          wire: call.wire,
          target,
          from: placement.from,
          headers: {
            ...target.headers,
            'adjutant-request': target.requestId,
            'adjutant-directive': target.directiveId,
            ...(isReplayed ? { 'adjutant-replayed': 'true' } : {}),
          },
          signal: shared.requester(reply.raw),
          unread: shared.unread,
          nextStep: place.nextStep,
          large,
          beforeEnd: async (turn) => noteAnswered(placement, turn, isReplayed),
        });
      } finally {
        leave(given === 'whole' || shared.stop.aborted ? 'done' : 'lost');
        const { name } = placement;
        if (given === 'whole' && name !== undefined)
          void calls.waits.mark(name, target.requestId, LOST_WITHIN_MS).catch(() => {});
      }
      if (given === 'cut') leaveReply(reply);
    },
  };

  async function noteAnswered({ run, target }: Placed, turn: RawTurn, isReplayed: boolean): Promise<void> {
    if (run === null || turns === null) return;
    await turns.answered(run, target, { toolCalls: turn.tool_calls, usage: turn.usage, isReplayed });
  }

  /** A caller of a stopping service repeats the call elsewhere, and joins it there. */
  function leaveReply(reply: ApiReply): void {
    if (!shared.stop.aborted || reply.raw.destroyed) return;
    if (reply.sent || reply.raw.headersSent) reply.raw.destroy();
    else throw new ServiceUnavailable('The service is stopping; the call goes on, and a repeat joins it.');
  }
}

function isRefused(error: unknown, code: ProblemCode): error is DirectiveRefused {
  return error instanceof DirectiveRefused && error.problem.code === code;
}

/** SDKs know a body that is too large by its status. */
function tooLarge({ message }: DirectiveRefused): DirectiveRefused {
  return new DirectiveRefused(problem('body_too_large', { detail: `${message} (limits.arguments_bytes)` }));
}

/** A streamed answer whose log lacks a part cannot be given again. */
function isLost({ result }: DirectiveView): boolean {
  const { metadata } = (result?.data ?? {}) as { metadata?: object };
  return metadata !== undefined && 'unreported' in metadata;
}

function isSame(directive: Directive, { wire, body }: ModelCall): boolean {
  return directive.type === 'llm_request' && directive.wire === wire && directive.body === body;
}

function keyConflict(): DirectiveRefused {
  const detail = 'the idempotency key was used for a call with other content';
  return new DirectiveRefused(problem('idempotency_conflict', { detail }));
}

/** The callers of each tenant who wait. */
function departuresOf(
  stop: AbortSignal,
  { graceMs, onError }: Pick<EndpointOptions, 'graceMs' | 'onError'>,
): (calls: TenantCalls) => Departures {
  const known = new WeakMap<TenantCalls, Departures>();
  return (calls) => {
    const made =
      known.get(calls) ??
      createDepartures({
        cancel: async ({ requestId, id }, reason) => calls.own.cancel(requestId, id, { reason }),
        client: 'the caller',
        shared: calls.waits,
        graceMs,
        stop,
        onError,
      });
    known.set(calls, made);
    return made;
  };
}

/** The same key of the same caller is the same call. */
function keyedTarget(key: unknown, caller: string): ModelTarget {
  if (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key))
    throw refusedAt('invalid_header', [
      { path: 'idempotency-key', message: 'must be 1 to 255 visible ASCII characters' },
    ]);
  const ids = keyedIdsOf(hash('sha256', `model ${caller} ${key}`, 'hex'));
  return { requestId: ids.request, directiveId: ids.directive(0) };
}

/** The name under which the newest call with this body is known to its repeats. */
function callName({ wire, model, body }: ModelCall, caller: string): string {
  return `model-call:${hash('sha256', JSON.stringify([caller, wire, model, body]), 'hex').slice(0, 32)}`;
}
