/** Limits the bodies that are being received: their number and bytes, of each caller and of all callers together.
 *  It must never count a body that has ended, nor one whose connection is gone. */
import type { FastifyRequest } from 'fastify';
import { DirectiveRefused, problem, ServiceUnavailable } from '../contract/problem.ts';
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
const PACE = { fromBytes: 65_536, burstBytes: 8 * MIB, bytesPerMs: (16 * MIB) / 1_000 };
/** Callers whose pace is remembered before those that are due again are forgotten. */
const MOST_PACED = 1_000;

export interface BodyPace {
  /** How long the next larger body of the caller waits before it is read, milliseconds. */
  waitMs(caller: string): number;
  /** Counts a body that is, or was, read. */
  charge(caller: string, bytes: number): void;
}

/** `now`: milliseconds of a clock that is never set. */
export function createBodyPace(now: () => number = () => performance.now()): BodyPace {
  /** When the bodies of a caller so far have had their time. */
  const doneAt = new Map<string, number>();

  return {
    waitMs: (caller) => Math.max(0, (doneAt.get(caller) ?? -Infinity) - now()),
    charge(caller, bytes) {
      if (bytes < PACE.fromBytes) return;
      const at = now();
      if (doneAt.size >= MOST_PACED) for (const [name, done] of doneAt) if (done < at) doneAt.delete(name);
      const before = Math.max(doneAt.get(caller) ?? -Infinity, at - PACE.burstBytes / PACE.bytesPerMs);
      doneAt.set(caller, before + bytes / PACE.bytesPerMs);
    },
  };
}

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
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const bytes = bytesOf(request);
    if (bytes === 0) return done();
    try {
      const caller = nameOf(request);
      const release = budget.hold(caller, bytes);
      request.raw.once('end', release).once('close', release);
      const waitMs = bytes < PACE.fromBytes ? 0 : pace.waitMs(caller);
      chargeFor(request, caller, bytes);
      if (waitMs === 0) done();
      else setTimeout(done, waitMs).unref();
    } catch (error) {
      done(error as Error);
    }
  });
}

/** The declared length within the bound of the route; without a length, that bound. 0: no body is read. */
function bytesOf({ method, headers, routeOptions }: FastifyRequest): number {
  if (method === 'GET' || method === 'HEAD') return 0;
  const most = routeOptions.bodyLimit;
  if (headers['transfer-encoding'] !== undefined) return most;
  return Math.min(Number(headers['content-length'] ?? 0), most);
}

function nameOf(request: FastifyRequest): string {
  const caller = callerOf(request);
  return caller === null || caller === 'open' ? request.ip : `key ${caller.principal.id}`;
}
