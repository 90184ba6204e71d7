/** Limits the bodies that are being received: their number and bytes, of each caller and of all callers together.
 *  It must never count a body that has ended, nor one whose connection is gone. */
import { Transform } from 'node:stream';
import type { FastifyRequest, RequestPayload } from 'fastify';
import { hasScope } from './access/principal.ts';
import { type CallerPace, createCallerPace } from '../platform/bounds/caller-pace.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../contract/problem.ts';
import { isMcpPath } from './allowed-host.ts';
import type { App } from './app.ts';
import { callerOf } from './access-check.ts';

export interface BodyBudget {
  /** Counts a body of at most `bytes`; call the returned function at its end. Throws the refusal. */
  hold(caller: string, bytes: number): () => void;
}

export interface BodyBounds {
  readonly bodies: number;
  readonly bytes: number;
}

const MIB = 1_024 * 1_024;
/** A caller is a key, a token, or an address without either. */
const OF_CALLER: BodyBounds = { bodies: 256, bytes: 64 * MIB };
const OF_ALL: BodyBounds = { bodies: 2_048, bytes: 192 * MIB };

/** Parsing a body holds the event loop: of each caller, larger ones are read at this rate, so that a caller waits for itself. */
const PACED_FROM_BYTES = 65_536;
const PACE = { burst: 8 * MIB, perMs: (16 * MIB) / 1_000 };

/** `now`: milliseconds of a clock that is never set. */
export function createBodyPace(now?: () => number): CallerPace {
  const { waitMs, charge } = createCallerPace(PACE, now);
  return { waitMs, charge: (caller, bytes) => void (bytes >= PACED_FROM_BYTES && charge(caller, bytes)) };
}

/**
 * A larger body to `/mcp` holds arguments of a call, or an answer: a caller that may neither submit nor decide sends
 * none.
 */
const READER_BYTES = 65_536;

interface Held {
  bodies: number;
  bytes: number;
}

export function createBodyBudget(ofCaller: BodyBounds = OF_CALLER, ofAll: BodyBounds = OF_ALL): BodyBudget {
  const all: Held = { bodies: 0, bytes: 0 };
  const callers = new Map<string, Held>();

  return {
    hold(caller, bytes) {
      const own = callers.get(caller) ?? { bodies: 0, bytes: 0 };
      if (isAbove(own, bytes, ofCaller)) throw tooMany(ofCaller);
      if (isAbove(all, bytes, ofAll))
        throw new ServiceUnavailable('The service is receiving as many bodies as it can hold.');
      callers.set(caller, own);
      for (const held of [own, all]) add(held, 1, bytes);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        for (const held of [own, all]) add(held, -1, -bytes);
        if (own.bodies === 0) callers.delete(caller);
      };
    },
  };
}

/** One body is always taken, however small the bounds are. */
function isAbove(held: Held, bytes: number, bounds: BodyBounds): boolean {
  return held.bodies > 0 && (held.bodies >= bounds.bodies || held.bytes + bytes > bounds.bytes);
}

function add(held: Held, bodies: number, bytes: number): void {
  held.bodies += bodies;
  held.bytes += bytes;
}

function tooMany({ bodies, bytes }: BodyBounds): DirectiveRefused {
  const detail = `A caller may send at most ${bodies} bodies at a time, and ${bytes / MIB} MiB in all: send the others when these have ended.`;
  return new DirectiveRefused(problem('too_many_open', { detail }));
}

/** Call it after the hooks that admit the caller. */
export function limitOpenBodies(app: App, budget: BodyBudget = createBodyBudget()): void {
  const pace = createBodyPace();
  /** A body without a declared length counts as what it had at its end. */
  const chargeFor = ({ headers, raw }: FastifyRequest, caller: string, bytes: number): void => {
    if (headers['transfer-encoding'] === undefined) return pace.charge(caller, bytes);
    const { socket } = raw;
    const before = socket.bytesRead;
    raw.once('end', () => pace.charge(caller, socket.bytesRead - before));
  };
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const most = mostBytesOf(request);
    const bytes = bytesOf(request, most);
    if (bytes === 0) return done();
    try {
      if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge(most);
      const caller = nameOf(request);
      const release = budget.hold(caller, bytes);
      request.raw.once('end', release).once('close', release);
      const waitMs = bytes < PACED_FROM_BYTES ? 0 : pace.waitMs(caller);
      chargeFor(request, caller, bytes);
      const isCounted = most === READER_BYTES && request.headers['transfer-encoding'] !== undefined;
      const read = (): void => done(null, isCounted ? bounded(payload, most) : payload);
      if (waitMs === 0) read();
      else setTimeout(read, waitMs).unref();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The bound of the route, and of what the caller may do there. */
function mostBytesOf(request: FastifyRequest): number {
  const { bodyLimit } = request.routeOptions;
  const caller = callerOf(request);
  if (!isMcpPath(request.url) || caller === null || caller === 'open') return bodyLimit;
  const { principal } = caller;
  return hasScope(principal, 'submit') || hasScope(principal, 'decide')
    ? bodyLimit
    : Math.min(bodyLimit, READER_BYTES);
}

function bounded(payload: RequestPayload, most: number): Transform {
  let leftBytes = most;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      leftBytes -= chunk.length;
      if (leftBytes < 0) next(tooLarge(most));
      else next(null, chunk);
    },
  });
  payload.once('error', (error) => counted.destroy(error));
  return payload.pipe(counted);
}

function tooLarge(most: number): DirectiveRefused {
  const detail = `The body is larger than ${most} bytes, which is the most for this caller and this path.`;
  return new DirectiveRefused(problem('body_too_large', { detail }));
}

/** The declared length within the bound; without a length, the bound. 0: no body is read. */
function bytesOf({ method, headers }: FastifyRequest, most: number): number {
  if (method === 'GET' || method === 'HEAD') return 0;
  if (headers['transfer-encoding'] !== undefined) return most;
  return Math.min(Number(headers['content-length'] ?? 0), most);
}

function nameOf(request: FastifyRequest): string {
  const caller = callerOf(request);
  return caller === null || caller === 'open' ? request.ip : `key ${caller.principal.id}`;
}
