// The way in: identifies, routes, accepts and rings for a batch of directives.
// Must never answer before the journal holds every directive of the batch.
import { hash } from 'node:crypto';
import { canonicalJson } from '../contract/canonical-json.ts';
import type { Directive, ParsedDirective } from '../contract/directive.ts';
import type { SubmitOptions } from '../contract/directive-client.ts';
import { DirectiveRefused, type FieldError, problem } from '../contract/problem.ts';
import { errorResult, type Result } from '../contract/result.ts';
import type { Submission } from '../contract/submission.ts';
import { encodeEnvelope, type Envelope } from '../journal/envelope.ts';
import type { Acceptance, Journal } from '../journal/journal.ts';
import type { SweepIndex } from '../journal/sweep-index.ts';
import { terminalSignal } from '../journal/terminal-signal.ts';
import { newIdentifier } from '../telemetry/identifier.ts';
import { isTraceparent, newTraceparent } from '../telemetry/trace-context.ts';
import type { Capacity } from './capacity.ts';
import type { Confirm } from './durability.ts';
import { identify } from './identify.ts';
import { ringFor, type Ring } from './job.ts';
import { type KnownModelsSource, NO_MODELS } from './known-models.ts';
import type { KnownServersSource } from './known-servers.ts';
import type { Lanes } from './lanes.ts';
import { routeOf, type Known, type Route } from './route.ts';

/** The result of a directive that needs no worker; null for work directives. */
export type ExecuteImmediately = (directive: Directive) => Result | null;

export interface SubmitterOptions {
  journal: Journal;
  index: SweepIndex;
  lanes: Lanes;
  servers: KnownServersSource;
  models: KnownModelsSource;
  executeImmediately: ExecuteImmediately;
  capacity: Capacity;
  /** The largest arguments, context, texts or tools of one directive, bytes as JSON. */
  argumentsBytes: number;
  /** Begun before each acceptance; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Redis Cluster keeps no order between slots, so there the job is added after the acceptance is known. */
  ordered: boolean;
  now?: () => number;
  newId?: () => string;
}

/** A directive on its way in: what will be accepted, and the ring that follows. */
interface Prepared {
  acceptance: Acceptance;
  ring: Ring;
}

export interface InternalSubmitOptions extends Pick<SubmitOptions, 'idempotencyKey' | 'traceparent'> {
  /** Channel on which the ends of newly accepted directives are announced. */
  inbox?: string | undefined;
}

export type Submitter = ReturnType<typeof createSubmitter>;

/** The sweeper looks at a directive this long after its submission, if it is still open. */
const FIRST_LOOK_MS = 5_000;
/** An acceptance slower than this may have been swept out of the index before it happened. */
const SLOW_ACCEPT_MS = 2_500;
/** 128 bits of SHA-256 tell two contents of one id apart. */
const DIGEST_LENGTH = 22;
const DEFAULT_DEADLINE_MS = 900_000;

const NOWHERE = { lane: null, models: undefined };

export function digestOf(directive: Directive): string {
  return hash('sha256', canonicalJson(directive), 'base64url').slice(0, DIGEST_LENGTH);
}

export function createSubmitter(options: SubmitterOptions) {
  const { journal, index, lanes, executeImmediately, capacity, confirm } = options;
  const now = options.now ?? Date.now;
  const newId = options.newId ?? newIdentifier;

  /** Throws `DirectiveRefused` for conflicts; rejects with Redis' own error when it does not answer. */
  async function submit(
    parsed: readonly ParsedDirective[],
    { idempotencyKey, traceparent, inbox }: InternalSubmitOptions = {},
  ): Promise<Submission> {
    const { requestId, directives } = identify(parsed, idempotencyKey, newId);
    const trace = isTraceparent(traceparent) ? traceparent : newTraceparent();
    const prepared = await prepareAll(directives, trace);
    await capacity.reserve(additionsOf(prepared));
    const confirmed = await confirm();
    const verdicts = await acceptAndRing(requestId, prepared, inbox);
    await confirmed?.();
    return submissionOf(requestId, prepared, verdicts);
  }

  async function prepareAll(directives: readonly Directive[], traceparent: string): Promise<Prepared[]> {
    const known = await knownFor(directives);
    const prepared = directives.map((directive) =>
      prepare(directive, traceparent, executeImmediately(directive) ?? routeOf(directive, known)),
    );
    requireBounded(directives, prepared, options.argumentsBytes);
    return prepared;
  }

  /** What the directives need to know; read again where one of them is not found. */
  async function knownFor(directives: readonly Directive[]): Promise<Known> {
    const tools = directives.filter(({ type }) => type === 'tool_exec');
    const asks = directives.filter(({ type }) => type.startsWith('llm_'));
    const known: Known = {
      servers: tools.length > 0 ? await options.servers.current() : new Map(),
      models: asks.length > 0 ? await options.models.current() : NO_MODELS,
    };
    const isLost = (directive: Directive): boolean => routeOf(directive, known).kind === 'ended';
    if (tools.some(isLost)) known.servers = await options.servers.recheck();
    if (asks.some(isLost)) known.models = await options.models.recheck();
    return known;
  }

  function prepare(directive: Directive, traceparent: string, route: Route | Result): Prepared {
    const digest = digestOf(directive);
    const { lane, models } = 'kind' in route && route.kind === 'lane' ? route : NOWHERE;
    const envelope: Envelope = { directive, lane, traceparent, ...(models ? { models } : {}) };
    const encoded = encodeEnvelope(envelope);
    const result = 'kind' in route ? (route.kind === 'ended' ? errorResult(route.error) : null) : route;
    const origin = { requestId: directive.request_id, causationId: directive.id, traceparent };
    const acceptance: Acceptance = {
      id: directive.id,
      type: directive.type,
      digest,
      lane,
      deadlineMs: 'deadline_ms' in directive ? directive.deadline_ms : DEFAULT_DEADLINE_MS,
      envelope: encoded,
      ...(result
        ? { end: { status: endStatus(directive, result), signal: terminalSignal(directive, result, origin) } }
        : {}),
    };
    return { acceptance, ring: ringFor(envelope, digest, encoded.length) };
  }

  /** Immediate directives succeed by saying what they were told to say, even if that is an error. */
  function endStatus(directive: Directive, result: Result): 'succeeded' | 'failed' {
    return result.ok || directive.type.startsWith('emit_') ? 'succeeded' : 'failed';
  }

  async function acceptAndRing(
    requestId: string,
    prepared: readonly Prepared[],
    inbox: string | undefined,
  ): Promise<('accepted' | 'existing')[]> {
    const open = prepared.filter(({ acceptance }) => acceptance.lane !== null);
    const refs = open.map(({ acceptance }) => ({ requestId, id: acceptance.id }));
    const begunAt = now();
    const indexed = refs.length > 0 ? index.add(refs, begunAt + firstLookMs(open)) : Promise.resolve();
    if (!options.ordered) await indexed;
    const accepting = journal.accept(
      requestId,
      prepared.map(({ acceptance }) => acceptance),
      inbox,
    );
    // One directive on one connection: Redis takes the three commands in this order, in one round trip.
    // Alone it is only refused when its id is taken: the ring then finds that directive, or is taken out by the sweeper.
    const alone = prepared.length === 1 && open.length === 1;
    const rung = options.ordered && alone ? ringAll(open) : undefined;
    rung?.catch(() => {});
    const [verdict] = await Promise.all([accepting, indexed]);
    if (verdict.kind === 'conflict') throw conflict(requestId, prepared, verdict);
    if (refs.length > 0 && now() - begunAt > SLOW_ACCEPT_MS) await index.add(refs, now());
    // The directives are durable: a ring that fails is repeated by the sweeper.
    await (rung ?? ringAll(open)).catch(() => {});
    return verdict.verdicts;
  }

  async function ringAll(open: readonly Prepared[]): Promise<void> {
    const byLane = Map.groupBy(open, ({ acceptance }) => acceptance.lane ?? '');
    await Promise.all(
      [...byLane].map(([lane, [first, ...others]]) => {
        if (!first) return Promise.resolve();
        if (others.length === 0) return lanes.ring(lane, first.ring);
        return lanes.ringAll(
          lane,
          [first, ...others].map(({ ring }) => ring),
        );
      }),
    );
  }

  return { submit };
}

/** How many directives each lane would get. */
function additionsOf(prepared: readonly Prepared[]): Map<string, number> {
  const additions = new Map<string, number>();
  for (const { acceptance } of prepared) {
    if (acceptance.lane !== null) additions.set(acceptance.lane, (additions.get(acceptance.lane) ?? 0) + 1);
  }
  return additions;
}

/** What a caller may make as large as he likes; the rest is bounded by its schema. */
const BOUNDED: Readonly<Partial<Record<Directive['type'], readonly string[]>>> = {
  tool_exec: ['arguments'],
  llm_stream: ['context', 'system_prompt', 'tools', 'output_schema'],
  llm_generate: ['context', 'system_prompt', 'tools', 'output_schema'],
  llm_embed: ['texts'],
};

/** The envelope holds these members: where it fits, they do. */
function requireBounded(
  directives: readonly Directive[],
  prepared: readonly Prepared[],
  limit: number,
): void {
  const errors = directives.flatMap((directive, position) => {
    if ((prepared[position]?.acceptance.envelope.length ?? 0) * 3 <= limit) return [];
    const before = directives.length === 1 ? '' : `directives[${position}].`;
    return oversized(directive, limit).map((error) => ({ ...error, path: `${before}${error.path}` }));
  });
  if (errors.length > 0) throw new DirectiveRefused(problem('invalid_body', { errors }));
}

function oversized(directive: Directive, limit: number): FieldError[] {
  return (BOUNDED[directive.type] ?? []).flatMap((path) => {
    const value = (directive as unknown as Record<string, unknown>)[path];
    const bytes = value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value));
    return bytes > limit ? [{ path, message: `has ${bytes} bytes as JSON, the limit is ${limit}` }] : [];
  });
}

/** Soon enough that a short deadline is not missed. */
function firstLookMs(open: readonly Prepared[]): number {
  return Math.min(FIRST_LOOK_MS, ...open.map(({ acceptance }) => acceptance.deadlineMs));
}

function conflict(
  requestId: string,
  prepared: readonly Prepared[],
  { id, storedDigest }: { id: string; storedDigest: string },
): DirectiveRefused {
  const position = prepared.findLastIndex(
    ({ acceptance }) => acceptance.id === id && acceptance.digest !== storedDigest,
  );
  const path = prepared.length === 1 ? 'id' : `directives[${position}].id`;
  return new DirectiveRefused(
    problem('id_conflict', {
      detail: `request "${requestId}" holds another directive with the id "${id}"; nothing was accepted`,
      errors: [{ path, message: 'this id was accepted with other content' }],
      digests: { submitted: prepared[position]?.acceptance.digest ?? null, stored: storedDigest },
    }),
  );
}

function submissionOf(
  requestId: string,
  prepared: readonly Prepared[],
  verdicts: readonly ('accepted' | 'existing')[],
): Submission {
  const request = `/v1/requests/${encodeURIComponent(requestId)}`;
  return {
    request_id: requestId,
    directives: prepared.map(({ acceptance }, position) => ({
      id: acceptance.id,
      type: acceptance.type as Directive['type'],
      status: verdicts[position] ?? 'accepted',
      lane: acceptance.lane,
      digest: acceptance.digest,
    })),
    links: { request, signals: `${request}/signals` },
  };
}
