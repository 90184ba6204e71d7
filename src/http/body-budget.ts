/** Limits the bytes of bodies that are being received, of each caller and of all callers together.
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

const MIB = 1_024 * 1_024;
/** A caller is a key, a token, or an address without either. */
const CALLER_BYTES = 64 * MIB;
const ALL_BYTES = 192 * MIB;
/** A small body counts as this, about what its request holds. A program may well send some thousand calls at the same moment. */
const LEAST_BYTES = 16_384;

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

export function createBodyBudget(callerBytes = CALLER_BYTES, allBytes = ALL_BYTES): BodyBudget {
  const callers = new Map<string, number>();
  let all = 0;

  return {
    hold(caller, bytes) {
      const own = callers.get(caller) ?? 0;
      const counted = Math.max(bytes, LEAST_BYTES);
      if (isAbove(own, counted, callerBytes)) throw tooMany(callerBytes);
      if (isAbove(all, counted, allBytes))
        throw new ServiceUnavailable('The service is receiving as many bodies as it can hold.');
      callers.set(caller, own + counted);
      all += counted;
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        all -= counted;
        const left = (callers.get(caller) ?? 0) - counted;
        if (left > 0) callers.set(caller, left);
        else callers.delete(caller);
      };
    },
  };
}

/** One body is always taken, however large it is. */
function isAbove(held: number, bytes: number, most: number): boolean {
  return held > 0 && held + bytes > most;
}

function tooMany(bytes: number): DirectiveRefused {
  const detail = `A caller may send bodies of at most ${bytes / MIB} MiB at a time, each of which counts as at least ${LEAST_BYTES / 1_024} KiB: send the others when these have ended.`;
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
