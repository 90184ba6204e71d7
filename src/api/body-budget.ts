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
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const bytes = bytesOf(request);
    if (bytes === 0) return done();
    try {
      const release = budget.hold(nameOf(request), bytes);
      request.raw.once('end', release).once('close', release);
      done();
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
