/** Calls of programs on the runs that they lead: steps of their own, the close, the view.
 *  A step that may have acted never runs again without a decision. */
import { randomUUID } from 'node:crypto';
import { readBody } from '../../contract/json/read-input.ts';
import { DirectiveRefused, type ProblemCode, problem } from '../../contract/problem.ts';
import {
  beginStepBodySchema,
  type BegunStep,
  closeRunBodySchema,
  type EndedStep,
  endStepBodySchema,
  type ForeignRunView,
  RUN_BOUNDS,
} from '../../contract/run/foreign-run.ts';
import type { SpendBudget } from '../../http/access/key-budget.ts';
import type { Principal } from '../../http/access/principal.ts';
import { ownerOf, refusalOf } from './owner.ts';
import type { RunOwner, RunRecord, RunStore, StepEnd } from './run-store.ts';

export interface RunServiceParts {
  readonly store: RunStore;
  /** Takes a step from the quota of the caller. Throws the refusal. */
  readonly spend: SpendBudget;
  /** Whether a tenant stores nothing in clear. */
  readonly mustEncrypt: (tenant: string) => boolean;
}

export type RunService = ReturnType<typeof createRunService>;

export function createRunService({ store, spend, mustEncrypt }: RunServiceParts) {
  function openOwner(run: string, principal: Principal | null) {
    const owner = ownerOf(run, principal);
    if (mustEncrypt(owner.tenant))
      throw refused(
        'encryption_required',
        'The results of steps are stored in clear, and the tenant stores nothing in clear.',
      );
    return owner;
  }

  /** A step that the quota refuses was not begun. */
  async function spendOrRelease(
    owner: RunOwner,
    step: { readonly key: string; readonly token: string },
    principal: Principal,
  ): Promise<void> {
    try {
      await spend(principal, 1);
    } catch (error) {
      await store.endStep(owner, { ...step, how: 'again', end: '' });
      throw error;
    }
  }

  async function read(
    run: string,
    principal: Principal | null,
    turn: number | null = null,
  ): Promise<ForeignRunView> {
    const record = await store.read(ownerOf(run, principal), turn);
    if (record === null) throw unknownRun(run);
    return viewOf(run, record);
  }

  return {
    read,
    async close(run: string, body: unknown, principal: Principal | null): Promise<ForeignRunView> {
      const owner = openOwner(run, principal);
      const { result = null, error } = readBody(closeRunBodySchema, body ?? {});
      const status = error === undefined ? 'completed' : 'failed';
      const outcome = JSON.stringify(error === undefined ? { result } : { error });
      requireSize(outcome);
      const closed = await store.close(owner, status, outcome);
      if (closed === 'none') throw unknownRun(run);
      if (closed === 'other')
        throw refused('already_decided', `The run ${run} is closed with another outcome.`);
      return read(run, principal);
    },
    async beginStep(run: string, body: unknown, principal: Principal | null): Promise<BegunStep> {
      const owner = openOwner(run, principal);
      const { key, effect, lease_ms: leaseMs, token = randomUUID() } = readBody(beginStepBodySchema, body);
      const state = await store.step(owner, { key, effect, leaseMs, token });
      switch (state.kind) {
        case 'run':
          if (state.isBegun && principal !== null) await spendOrRelease(owner, { key, token }, principal);
          return { run, key, state: 'run', token, lease_ms: leaseMs };
        case 'running':
          return { run, key, state: 'running', lease_ms: state.leftMs };
        case 'recorded':
          return { run, key, state: 'recorded', ...(JSON.parse(state.end) as object) };
        case 'unknown':
          return { run, key, state: 'unknown' };
        case 'ended':
        case 'full':
          throw refusalOf(owner, { kind: state.kind });
      }
    },
    async endStep(run: string, body: unknown, principal: Principal | null): Promise<EndedStep> {
      const owner = openOwner(run, principal);
      const { key, token = '', result = null, error, again } = readBody(endStepBodySchema, body);
      const how = again === true ? 'again' : error === undefined ? 'result' : 'error';
      const end = JSON.stringify(how === 'error' ? { error } : { result });
      requireSize(end);
      const ended = await store.endStep(owner, { key, token, how, end });
      if (ended === 'recorded' || ended === 'released') return { run, key, state: ended };
      throw stepRefusal(ended, key);
    },
  };
}

function requireSize(end: string): void {
  if (Buffer.byteLength(end) > RUN_BOUNDS.resultBytes)
    throw refused('body_too_large', `A result has at most ${RUN_BOUNDS.resultBytes} bytes as JSON.`);
}

const STEP_REFUSALS: Readonly<
  Record<Exclude<StepEnd, 'recorded' | 'released'>, readonly [code: ProblemCode, why: string]>
> = {
  other: ['already_decided', 'has another end already'],
  stale: ['version_conflict', 'was begun again by another process, whose end counts'],
  running: ['not_waiting', 'has no unknown outcome: only the token of its begin ends it'],
  none: ['not_found', 'was not begun in this run'],
  full: ['request_full', 'does not fit: the results of the steps of this run have reached their bound'],
};

function stepRefusal(end: Exclude<StepEnd, 'recorded' | 'released'>, key: string): DirectiveRefused {
  const [code, why] = STEP_REFUSALS[end];
  return refused(code, `The step "${key}" ${why}.`);
}

/** The same words for a run of another caller and one that does not exist. */
function unknownRun(run: string): DirectiveRefused {
  return refused('not_found', `There is no run ${run} of this caller.`);
}

function refused(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}

/** The longest wait of a program for one answer that is usual; its run counts as idle afterwards. */
const IDLE_AFTER_MS = 600_000;

function viewOf(run: string, record: RunRecord): ForeignRunView {
  return {
    run,
    status: record.status === 'open' && record.idleMs > IDLE_AFTER_MS ? 'idle' : record.status,
    begun_at: new Date(record.begunAt).toISOString(),
    passes: record.pass,
    branched: record.isBranch,
    turns: record.turns,
    tool_calls: record.calls,
    steps: record.steps,
    replays: record.replays,
    latest_turns: record.latestTurns.map(({ turn, requestId, asked, replays }) => ({
      turn,
      request_id: requestId,
      tool_calls: asked,
      replays,
    })),
    ...(record.left === null
      ? {}
      : {
          diverged: { pass: record.left.pass, turn: record.left.turn, request_id: record.left.requestId },
        }),
    request_prefix: record.base,
    trace_id: record.traceparent.slice(3, 35),
    idle_ms: record.idleMs,
    kept_ms: record.keptMs,
    ...(record.outcome === null ? {} : (JSON.parse(record.outcome) as object)),
  };
}
