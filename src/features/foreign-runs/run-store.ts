/** The record of runs that other programs lead: the order of their model calls, tool calls and steps.
 *  Decides only which directive a call is: how a directive ended is in the journal. */
import { hash, randomBytes } from 'node:crypto';
import { RUN_BOUNDS, RUN_REQUEST_PREFIX } from '../../contract/run/foreign-run.ts';
import type { SpendBudget } from '../../http/access/key-budget.ts';
import type { Principal } from '../../http/access/principal.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { newTraceparent } from '../../platform/telemetry/traces/trace-context.ts';
import type { KeySpace } from '../../store/keys.ts';
import { namedIn, prepareScripts, type RunScript, type ScriptName } from '../../store/scripts.ts';

/** Owner of a run: the same name of another caller is another run. */
export interface RunOwner {
  readonly tenant: string;
  /** Caller; null: no key is asked for. */
  readonly principal: Principal | null;
  readonly run: string;
}

/** A turn that was found or made. */
export interface FoundTurn {
  readonly kind: 'turn';
  readonly requestId: string;
  readonly turn: number;
  readonly pass: number;
  readonly traceparent: string;
  /** The recorded turn that the pass leaves with this one; null: it leaves none. */
  readonly left: { readonly turn: number; readonly requestId: string } | null;
}

export interface FoundCall {
  readonly kind: 'call';
  readonly requestId: string;
  /** Its id in the run. */
  readonly id: string;
  readonly traceparent: string;
  /** Time since it was given its id, milliseconds. */
  readonly ageMs: number;
  /** Whether it was made now; else the run had it before. */
  readonly isNew: boolean;
}

/** Why nothing new is made: the run is closed, or has reached a bound. */
export interface Refusal {
  readonly kind: 'ended' | 'full';
}

export interface TurnAsked {
  readonly digest: string;
  /** Shape of a history without answers of a model; '': it has some. */
  readonly shape: string;
  /** Value of the header of the pass; '': none. */
  readonly mark: string;
  readonly how: 'fresh' | 'retry' | '';
  /** Request of the call that has failed; null: none. */
  readonly failed: string | null;
}

export interface CallAsked {
  readonly call: string;
  readonly arguments: string;
  readonly names: readonly string[];
  readonly isOnce: boolean;
  readonly allowsRepeat: boolean;
  readonly mark: string;
  /** Whether the answer of the last turn is waited for. */
  readonly waits: boolean;
}

export interface StepAsked {
  readonly key: string;
  readonly effect: string;
  readonly leaseMs: number;
  readonly token: string;
}

export type StepState =
  | { readonly kind: 'unknown' }
  /** `isBegun`: now; else its lease was renewed. */
  | { readonly kind: 'run'; readonly isBegun: boolean }
  | { readonly kind: 'running'; readonly leftMs: number }
  | { readonly kind: 'recorded'; readonly end: string };

export type StepEnd = 'recorded' | 'released' | 'other' | 'stale' | 'running' | 'none' | 'full';

/** A tool call that an answer asks for: its normalised name, and the digest of its arguments. */
export type AskedCall = readonly [name: string, arguments: string];

export interface RecordedTurn {
  readonly turn: number;
  readonly requestId: string;
  /** Tool calls that its answer asks for. */
  readonly asked: number;
  readonly replays: number;
}

export interface RunRecord {
  readonly status: 'open' | 'completed' | 'failed';
  readonly outcome: string | null;
  readonly begunAt: number;
  readonly pass: number;
  readonly isBranch: boolean;
  readonly turns: number;
  readonly calls: number;
  readonly steps: number;
  /** Answers that were given from the record. */
  readonly replays: number;
  /** The last pass that left the record, and the turn that it did not repeat; null: none has. */
  readonly left: { readonly pass: number; readonly turn: number; readonly requestId: string } | null;
  readonly latestTurns: readonly RecordedTurn[];
  /** Beginning of the ids of its requests. */
  readonly base: string;
  readonly traceparent: string;
  /** Time since the last call, milliseconds. */
  readonly idleMs: number;
  /** Time until the record is forgotten, where no call comes, milliseconds. */
  readonly keptMs: number;
}

export type RunStore = ReturnType<typeof createRunStore>;

const DIGEST_CHARACTERS = 32;
/** Characters of a run's name in the ids of its requests, which console and log show. */
const SHOWN_CHARACTERS = 60;
/** The longest time limit of a tool call: the record outlives what is under way. */
const LONGEST_CALL_MS = 24 * 60 * 60_000;

const VIEW_FIELDS = [
  'name',
  'status',
  'outcome',
  'begun',
  'pass',
  'branch',
  'turns',
  'calls',
  'steps',
  'base',
  'trace',
  'refused',
  'replays',
  'told',
  'left',
  'left_request',
];

/** Fields of the record of one turn that its view shows. */
const turnFields = (turn: number): string[] => [`n:${turn}`, `y:t${turn}`, `a:${turn}`, `r:${turn}`];
const TURN_FIELDS = turnFields(0).length;

/** `keptMs`: the retention of closed requests of a tenant, milliseconds. `spend`: takes a new run from the quota of its caller, or throws. */
export function createRunStore(
  connection: RedisConnection,
  keySpace: KeySpace,
  keptMs: (tenant: string) => number,
  spend: SpendBudget,
) {
  const scripts = prepareScripts(connection);
  const run: RunScript = async (...call) => whileAvailable(async () => scripts(...call));

  function keysOf({ tenant, principal, run: name }: RunOwner): [state: string, results: string] {
    const digest = hash('sha256', JSON.stringify([tenant, principal?.id ?? null, name]), 'hex').slice(
      0,
      DIGEST_CHARACTERS,
    );
    return keySpace.foreignRun(digest);
  }

  const keep = ({ tenant }: RunOwner): number => keptMs(tenant) + LONGEST_CALL_MS;

  /** Runs a script that begins the run where there is none: a caller without quota makes no record. */
  async function begun(script: ScriptName, owner: RunOwner, args: readonly (string | number)[]) {
    const { run: name, principal } = owner;
    const attempt = async (base: string, trace: string) =>
      namedIn(await run(script, keysOf(owner), [name, base, trace, keep(owner), ...args]));
    const found = await attempt('', '');
    if (found.text('kind') !== 'absent') return found;
    if (principal !== null) await spend(principal, 1);
    const base = `${RUN_REQUEST_PREFIX}${name.slice(0, SHOWN_CHARACTERS)}.${randomBytes(6).toString('hex')}`;
    return attempt(base, newTraceparent());
  }

  return {
    async turn(owner: RunOwner, asked: TurnAsked): Promise<FoundTurn | Refusal> {
      const { digest, shape, mark, how, failed } = asked;
      const args = [digest, shape, mark, how, RUN_BOUNDS.turns, failed ?? ''];
      const reply = await begun('foreign-turn', owner, args);
      const kind = reply.text('kind') as 'turn' | 'ended' | 'full';
      if (kind !== 'turn') return { kind };
      return {
        kind,
        requestId: reply.text('request'),
        turn: reply.number('turn'),
        pass: reply.number('pass'),
        traceparent: reply.text('trace'),
        left:
          reply.number('left') === 0
            ? null
            : { turn: reply.number('left'), requestId: reply.text('left_request') },
      };
    },
    /** Takes a turn back whose call was refused, unless another caller has found it. */
    async forget(owner: RunOwner, requestId: string): Promise<void> {
      await run('foreign-forget', keysOf(owner), [requestId]);
    },
    /** false: the run has no such turn. */
    async asked(
      owner: RunOwner,
      requestId: string,
      { calls, isReplayed }: { calls: readonly AskedCall[]; isReplayed: boolean },
    ): Promise<boolean> {
      const args = [requestId, JSON.stringify(calls), calls.length, isReplayed ? '1' : ''];
      const reply = await run('foreign-asked', keysOf(owner), args);
      return namedIn(reply).text('kind') === 'noted';
    },
    /** null: the answer of the last turn is not noted yet. */
    async call(owner: RunOwner, asked: CallAsked): Promise<FoundCall | Refusal | null> {
      const reply = await begun('foreign-call', owner, [
        asked.call,
        asked.arguments,
        JSON.stringify(asked.names),
        asked.isOnce ? 'once' : '',
        asked.allowsRepeat ? 'repeat' : '',
        asked.mark,
        RUN_BOUNDS.calls,
        asked.waits ? 'wait' : '',
      ]);
      const kind = reply.text('kind') as 'call' | 'early' | 'ended' | 'full';
      if (kind === 'early') return null;
      if (kind !== 'call') return { kind };
      return {
        kind,
        requestId: reply.text('request'),
        id: reply.text('id'),
        traceparent: reply.text('trace'),
        ageMs: reply.number('age'),
        isNew: reply.flag('made'),
      };
    },
    /** Another request for a call that has ended in `requestId`. */
    async again(owner: RunOwner, id: string, requestId: string): Promise<string> {
      return namedIn(await run('foreign-again', keysOf(owner), [id, requestId])).text('request');
    },
    /** Notes that the answer of a call was given whole. */
    async given(owner: RunOwner, requestId: string): Promise<void> {
      await run('foreign-given', keysOf(owner), [requestId]);
    },
    async step(owner: RunOwner, { key, effect, leaseMs, token }: StepAsked): Promise<StepState | Refusal> {
      const reply = await begun('foreign-step', owner, [key, effect, leaseMs, token, RUN_BOUNDS.steps]);
      const kind = reply.text('kind') as (StepState | Refusal)['kind'];
      if (kind === 'running') return { kind, leftMs: reply.number('left') };
      if (kind === 'run') return { kind, isBegun: reply.flag('begun') };
      return kind === 'recorded' ? { kind, end: reply.text('end') } : { kind };
    },
    async endStep(
      owner: RunOwner,
      {
        key,
        token,
        how,
        end,
      }: { key: string; token: string; how: 'result' | 'error' | 'again'; end: string },
    ): Promise<StepEnd> {
      const args = [key, token, how, end, keep(owner), RUN_BOUNDS.stepBytes];
      return namedIn(await run('foreign-step-end', keysOf(owner), args)).text('kind') as StepEnd;
    },
    /** Closed now or before with this outcome; with another one; there is no such run. */
    async close(
      owner: RunOwner,
      status: 'completed' | 'failed',
      outcome: string,
    ): Promise<'closed' | 'other' | 'none'> {
      const reply = namedIn(await run('foreign-close', keysOf(owner), [status, outcome]));
      return reply.text('kind') as 'closed' | 'other' | 'none';
    },
    /** `until`: the last one of the latest turns that are read; null: the newest. Returns null where there is no such run. */
    async read(owner: RunOwner, until: number | null): Promise<RunRecord | null> {
      const [state] = keysOf(owner);
      const [fields, leftMs] = await whileAvailable(async () =>
        Promise.all([connection.hmget(state, ...VIEW_FIELDS), connection.pttl(state)]),
      );
      const view = new Map(VIEW_FIELDS.map((name, at) => [name, fields[at] ?? '']));
      const text = (name: string): string => view.get(name) ?? '';
      const number = (name: string): number => Number(text(name));
      if (text('name') === '') return null;
      const base = text('base');
      const newest = Math.min(until ?? Number.MAX_SAFE_INTEGER, number('turns'));
      return {
        status: (text('status') || 'open') as RunRecord['status'],
        outcome: text('outcome') || null,
        begunAt: number('begun'),
        pass: number('pass'),
        isBranch: text('branch') !== '',
        turns: number('turns') - number('refused'),
        calls: number('calls'),
        steps: number('steps'),
        replays: number('replays'),
        left:
          text('left') === ''
            ? null
            : { pass: number('told'), turn: number('left'), requestId: text('left_request') },
        latestTurns: await turnsUntil(state, base, newest),
        base,
        traceparent: text('trace'),
        // Each call renews the time that the record is kept.
        idleMs: Math.max(0, keep(owner) - leftMs),
        keptMs: Math.max(0, leftMs),
      };
    },
  };

  /** The newest first; a number whose call was refused is no turn. */
  async function turnsUntil(state: string, base: string, newest: number): Promise<RecordedTurn[]> {
    const length = Math.min(RUN_BOUNDS.latestTurns, newest);
    if (length === 0) return [];
    const numbers = Array.from({ length }, (_, at) => newest - at);
    const values = await whileAvailable(async () => connection.hmget(state, ...numbers.flatMap(turnFields)));
    return numbers.flatMap((turn, at) => {
      const [before, tries, asked, replays] = values.slice(at * TURN_FIELDS, (at + 1) * TURN_FIELDS);
      if (before === null) return [];
      const requestId = `${base}.t${turn}${tries === null ? '' : `.${tries}`}`;
      return [{ turn, requestId, asked: Number(asked), replays: Number(replays) }];
    });
  }
}
