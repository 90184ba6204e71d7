/** The sessions of clients older than the stateless protocol: each has a server of its own in this process.
 *  It must never hold more sessions than its pool allows, nor one that is idle for too long. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  isInitializeRequest,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { createCallerPace } from '../../platform/bounds/caller-pace.ts';

export interface SessionsOptions {
  readonly createServer: () => Promise<Server>;
  /** Who calls now. Default: everybody is the same. */
  readonly callerOf?: (() => string | null) | undefined;
  readonly pool: SessionPool;
  /** A session without a request for so long is closed, milliseconds. */
  readonly idleMs: number;
}

export interface Sessions {
  handle(request: Request, parsedBody: unknown): Promise<Response>;
  close(): Promise<void>;
}

export interface PoolOptions {
  /** Sessions at once; a further one replaces the one that has been asked nothing for longest. */
  readonly most: number;
  /** Sessions of one caller at once; a further one replaces one of its own. */
  readonly mostOfCaller: number;
}

/** Each session has a server of its own, which takes about 2 ms of the event loop. */
const BEGUN = { burst: 100, perMs: 50 / 1_000 };
const LONGEST_BEGIN_MS = 10_000;

/** The sessions of all endpoints of a process. */
export interface SessionPool {
  /** Counts a session that the caller begins; returns how long it waits before it begins, milliseconds, or null: too long. */
  beginIn(owner: string | null): number | null;
  /** false: all sessions that it could replace are busy. */
  admit(session: Session): boolean;
  remove(session: Session): void;
}

/** `now`: milliseconds of a clock that is never set. */
export function createSessionPool({ most, mostOfCaller }: PoolOptions, now?: () => number): SessionPool {
  const all = new Set<Session>();
  const pace = createCallerPace(BEGUN, now);

  function makeRoom(sessions: readonly Session[], bound: number): boolean {
    if (sessions.length < bound) return true;
    const [longest] = idleOf(sessions);
    if (longest === undefined) return false;
    all.delete(longest);
    void longest.transport.close();
    return true;
  }

  return {
    beginIn(owner) {
      const caller = owner ?? '';
      const waitMs = pace.waitMs(caller);
      if (waitMs > LONGEST_BEGIN_MS) return null;
      pace.charge(caller, 1);
      return waitMs;
    },
    admit(session) {
      const { owner } = session;
      const own = owner === null ? [] : [...all].filter((other) => other.owner === owner);
      if (!makeRoom(own, mostOfCaller) || !makeRoom([...all], most)) return false;
      all.add(session);
      return true;
    },
    remove: (session) => void all.delete(session),
  };
}

/** Those that answer nothing now, first the one that is missed least. */
function idleOf(sessions: Iterable<Session>): Session[] {
  const silent = [...sessions].filter(({ answering }) => answering === 0);
  return silent.sort((a, b) => Math.min(a.listening, 1) - Math.min(b.listening, 1) || a.usedAt - b.usedAt);
}

export interface Session {
  /** Who began it: for everybody else it does not exist. */
  readonly owner: string | null;
  readonly transport: WebStandardStreamableHTTPServerTransport;
  usedAt: number;
  /** Requests that are being answered. */
  answering: number;
  /** Streams on which the client only listens: a thousand of them must not shut everybody else out. */
  listening: number;
}

export function createSessions({
  createServer,
  callerOf = () => null,
  pool,
  idleMs,
}: SessionsOptions): Sessions {
  const sessions = new Map<string, Session>();
  const sweep = setInterval(() => void closeIdle(), Math.min(idleMs, 60_000)).unref();

  async function closeIdle(): Promise<void> {
    const now = performance.now();
    const old = idleOf(sessions.values()).filter(
      ({ usedAt, listening }) => listening === 0 && now - usedAt >= idleMs,
    );
    await Promise.all(old.map(async ({ transport }) => transport.close()));
  }

  async function begin(): Promise<Session | null> {
    const id = randomUUID();
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id });
    const owner = callerOf();
    const waitMs = pool.beginIn(owner);
    if (waitMs === null) return null;
    if (waitMs > 0) await delay(waitMs);
    const session: Session = { owner, transport, usedAt: performance.now(), answering: 1, listening: 0 };
    // Counted at once, as the answer to its first request is: many may begin at the same time.
    if (!pool.admit(session)) return null;
    sessions.set(id, session);
    const leave = (): void => {
      sessions.delete(id);
      pool.remove(session);
    };
    try {
      const server = await createServer();
      await server.connect(transport);
    } catch (error) {
      leave();
      throw error;
    }
    const { onclose } = transport;
    transport.onclose = () => {
      leave();
      onclose?.();
    };
    return session;
  }

  async function sessionFor(request: Request, parsedBody: unknown): Promise<Session | Response> {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : sessions.get(id);
    if (known !== undefined && known.owner === callerOf()) return known;
    // A client that begins anew may still send the id of a session that has ended.
    if (isInitializeRequest(parsedBody))
      return (
        (await begin()) ?? refusal(503, -32_000, 'Too many sessions are busy, or begin: try again in 10 s')
      );
    return id === null
      ? refusal(
          400,
          -32_000,
          'Bad Request: no session. Send `initialize` first, then its Mcp-Session-Id with each request',
        )
      : refusal(404, -32_001, 'Session not found: send `initialize` to begin another');
  }

  async function handle(request: Request, parsedBody: unknown): Promise<Response> {
    const session = await sessionFor(request, parsedBody);
    if (session instanceof Response) return session;
    const kind = request.method === 'GET' ? 'listening' : 'answering';
    if (session.transport.sessionId !== undefined) session[kind] += 1;
    const leave = (): void => {
      session[kind] -= 1;
      session.usedAt = performance.now();
    };
    try {
      const response = await session.transport.handleRequest(request, { parsedBody });
      // It was refused: nobody knows this session.
      if (session.transport.sessionId === undefined) await session.transport.close();
      return whenSent(response, leave);
    } catch (error) {
      leave();
      throw error;
    }
  }

  return {
    handle,
    async close() {
      clearInterval(sweep);
      await Promise.all([...sessions.values()].map(async ({ transport }) => transport.close()));
    },
  };
}

function refusal(status: number, code: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code, message } }, { status });
}

/** The same response; `leave` is called once its body has ended or is no longer read. */
function whenSent(response: Response, leave: () => void): Response {
  const { body, status, headers } = response;
  if (body === null) {
    leave();
    return response;
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  void sent(body, writable, leave);
  return new Response(readable, { status, headers });
}

async function sent(
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
  leave: () => void,
): Promise<void> {
  try {
    await body.pipeTo(writable);
  } catch {
    // The reader has gone, or the session was closed.
  } finally {
    leave();
  }
}
