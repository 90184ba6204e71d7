/** Keeps one server connected: connects on first need, reconnects after a loss, remembers its tools.
 *  It must never end a call itself, nor open two sessions at once. */
import type { KnownSecrets } from '../contract/json/secret-text.ts';
import { randomUUID } from 'node:crypto';
import type { SchemaChecks } from '../platform/json-schema/schema-checks.ts';
import type { ConnectFault } from './connect-fault.ts';
import { describe, isRefusedAnswer } from './connect-fault.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import type { OnOutput } from './transport/output-tail.ts';
import type { TokenSource } from './oauth/token-source.ts';
import { type ProtocolMemory, openSession } from './open-session.ts';
import { reconnectDelayMs } from './transport/reconnect-delay.ts';
import { downloaderOf, type McpServerOptions, PROBE_MS } from './server-options.ts';
import { declaredOffers } from './tools/server-offers.ts';
import type { Session } from './session.ts';
import type { ServerOutage, ServerStatus } from './server-status.ts';
import type { ToolCallRequest } from './tools/tool-call.ts';
import { isSameList, type ToolList } from './tools/tool-list.ts';
import { createOutage, secondsOf } from '../platform/telemetry/outage.ts';
import { type ToolWatch, readTools, watchTools } from './tools/tool-watch.ts';

export interface Connection {
  /** Connects in the background; does nothing when already connected or connecting. */
  start(): void;
  stop(): Promise<void>;
  /** null: not connected now. */
  session(): Session | null;
  /** The session; null when the signal fired, another attempt cannot help, or who asks does not wait for a server that is down. */
  waitForSession(
    signal: AbortSignal,
    patience?: Pick<ToolCallRequest, 'waitsForServer'>,
  ): Promise<Session | null>;
  /** Drops a session that the server no longer knows. Calls that it has accepted may still end. */
  giveUp(session: Session, why: string): void;
  tools(): ToolList | null;
  /** The server seems to have other tools than were listed: they are read again, within limits. Resolves when they are. */
  toolsDoubted(): Promise<void>;
  status(): ServerStatus;
  fault(): ConnectFault | null;
  /** Why there is no session, and what to do, as the end of a sentence about the server. */
  awayReason(): string;
  /** How long the server has been starting, and why that may take long; null: it has failed, or is not started. */
  startingReason(): string | null;
}

export interface ConnectionOptions {
  readonly server: McpServerOptions;
  /** Default: none. */
  readonly tokens?: TokenSource | null;
  readonly logger: Logger;
  /** Gets the output of the server's program. Default: the log alone has it. */
  readonly onOutput?: OnOutput | undefined;
  readonly random: () => number;
  readonly schemas: SchemaChecks;
  /** Redacts what the server lists. */
  readonly hide: KnownSecrets['hideIn'];
  readonly onTools: (list: ToolList) => void;
  readonly onStatus: (status: ServerStatus, error?: string, outage?: ServerOutage) => void;
}

const MAX_PROBE_MS = 30_000;
/** A connection that lasts this long is stable: the next failure counts as the first. Milliseconds. */
const STABLE_MS = 10_000;

/** A server that has not answered by then is named in the log. Milliseconds. */
const SLOW_START_MS = 5_000;

export function createConnection(options: ConnectionOptions): Connection {
  return new ServerConnection(options);
}

class ServerConnection implements Connection {
  readonly #given: ConnectionOptions;
  readonly #stopping = new AbortController();
  readonly #memory: ProtocolMemory = { legacyOnly: false, sseOnly: false, announced: 0 };
  readonly #waiting = new Set<() => void>();
  #loop: Promise<void> | null = null;
  readonly #retiring = new Set<Session>();
  #session: Session | null = null;
  #tools: ToolList | null = null;
  #watch: ToolWatch | null = null;
  /** Protocol revision, as in `DeclaredOffers`. */
  #revision = '';
  #status: ServerStatus = 'connecting';
  #fault: ConnectFault | null = null;
  /** When the current attempt to connect began, as performance.now. */
  #openingSince = 0;
  readonly #outage = createOutage();
  #failures = 0;
  /** From the failure or loss on, until the next attempt. Milliseconds. */
  #retryInMs = 0;
  /** null: it was reached the last time. */
  #down: Pick<ServerOutage, 'sinceAt' | 'tries'> | null = null;

  constructor(given: ConnectionOptions) {
    this.#given = given;
  }

  start(): void {
    if (this.#stopping.signal.aborted) return;
    this.#loop ??= this.#keepConnected();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#wake();
    const sessions = this.#session === null ? [...this.#retiring] : [this.#session, ...this.#retiring];
    await Promise.all(sessions.map(async (session) => session.end('stopped')));
    await this.#loop;
  }

  session(): Session | null {
    return this.#session;
  }

  tools(): ToolList | null {
    return this.#tools;
  }

  status(): ServerStatus {
    return this.#status;
  }

  fault(): ConnectFault | null {
    return this.#fault;
  }

  awayReason(): string {
    if (this.#fault !== null) return this.#fault.message;
    const starting = this.startingReason();
    return starting === null ? 'it was not started yet: call again' : `${starting}: call again in a moment`;
  }

  startingReason(): string | null {
    return this.#fault === null && this.#loop !== null ? this.#startingText() : null;
  }

  #startingText(): string {
    const seconds = Math.round((performance.now() - this.#openingSince) / 1_000);
    const { transport } = this.#given.server;
    if (transport.kind !== 'stdio') return `it has not answered yet, after ${seconds} s`;
    const downloader = downloaderOf(transport.command);
    const download =
      downloader === null ? '' : `; at its first start ${downloader} downloads it, which may take minutes`;
    return `it has been starting for ${seconds} s${download}`;
  }

  async toolsDoubted(): Promise<void> {
    await this.#watch?.doubted();
  }

  giveUp(session: Session, why: string): void {
    if (this.#session !== session) return;
    this.#session = null;
    this.#retiring.add(session);
    void session.retire(why).finally(() => this.#retiring.delete(session));
  }

  async waitForSession(
    signal: AbortSignal,
    { waitsForServer = true }: Pick<ToolCallRequest, 'waitsForServer'> = {},
  ): Promise<Session | null> {
    this.start();
    while (this.#session === null) {
      const hopeless = this.#fault !== null && !(this.#fault.passing && waitsForServer);
      if (hopeless || signal.aborted || this.#stopping.signal.aborted) return null;
      await this.#change(signal);
    }
    return this.#session;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const session = await this.#open();
      if (session !== null && signal.aborted) await this.#abandon(session);
      else if (session !== null) await this.#hold(session);
      if (!signal.aborted) await pause(this.#retryInMs, signal);
    }
  }

  /** Stopped before anybody could use it. */
  async #abandon(session: Session): Promise<void> {
    this.#watch?.stop();
    await session.end('stopped');
  }

  /** One attempt: connects and reads the tools, or records a fault. */
  async #open(): Promise<Session | null> {
    const { server, tokens = null, logger, onOutput } = this.#given;
    this.#openingSince = performance.now();
    const slow = setTimeout(() => this.#sayStarting(), SLOW_START_MS).unref();
    const probeMs = (server.probeTimeoutMs ?? PROBE_MS) * 2 ** Math.min(this.#failures, 10);
    const opened = await openSession({
      server,
      tokens,
      logger,
      onOutput,
      memory: this.#memory,
      stopped: this.#stopping.signal,
      probeTimeoutMs: Math.min(probeMs, MAX_PROBE_MS),
    });
    clearTimeout(slow);
    if (!opened.ok) return this.#failed(opened.fault);
    this.#watch = this.#watchTools(opened.session);
    try {
      await this.#watch.begin();
      return opened.session;
    } catch (error) {
      this.#watch.stop();
      await opened.session.end('its tools cannot be read');
      return this.#failed({
        type: 'network',
        message: `its tools cannot be read: ${describe(error)}`,
        // A list above its limits stays so: no call has to wait for another attempt.
        passing: !isRefusedAnswer(error),
      });
    }
  }

  /** From ready to lost. */
  async #hold(session: Session): Promise<void> {
    const readyAt = performance.now();
    this.#session = session;
    this.#fault = null;
    this.#down = null;
    const { era, transportKind: transport, pid } = session;
    const tools = this.#tools?.definitions.length ?? 0;
    const away = this.#outage.works();
    const after = away?.kind === 'ended' ? { away_s: secondsOf(away.afterMs) } : {};
    this.#given.logger[away ? 'warn' : 'info']({ era, transport, pid, tools, ...after }, 'MCP server ready');
    this.#report('ready');
    this.#wake();
    const why = await session.lost;
    const isRetiring = this.#session !== session;
    this.#session = null;
    this.#watch?.stop();
    this.#countFailures(performance.now() - readyAt >= STABLE_MS ? 0 : this.#failures + 1);
    if (this.#stopping.signal.aborted) return;
    this.#outage.failed();
    this.#given.logger.warn({ reason: why }, 'MCP server lost');
    this.#report('connecting', why);
    // The old process ends before a new one starts: two could write to the same files.
    if (!isRetiring) await session.end(why);
  }

  #failed(fault: ConnectFault): null {
    this.#fault = fault;
    this.#countFailures(this.#failures + 1);
    // What was learned of the server may be outdated.
    Object.assign(this.#memory, { legacyOnly: false, sseOnly: false, announced: 0 });
    if (!this.#stopping.signal.aborted) {
      this.#sayUnreached(fault.message);
      this.#report('unavailable', fault.message, this.#outageOf(fault));
    }
    this.#wake();
    return null;
  }

  #countFailures(failures: number): void {
    this.#failures = failures;
    const delayMs = reconnectDelayMs(failures, this.#given.random());
    this.#retryInMs = Math.min(delayMs, this.#fault?.retryWithinMs ?? delayMs);
  }

  #outageOf({ type }: ConnectFault): ServerOutage {
    const now = Date.now();
    const { sinceAt, tries } = this.#down ?? { sinceAt: now, tries: 0 };
    this.#down = { sinceAt, tries: tries + 1 };
    return { ...this.#down, retryAt: now + this.#retryInMs, type };
  }

  /** A first start may download the server: without this line the log would be silent for minutes. */
  #sayStarting(): void {
    if (this.#outage.away || this.#stopping.signal.aborted) return;
    this.#given.logger.info({ reason: this.#startingText() }, 'MCP server is still starting');
  }

  /** Repeated failures are logged for debugging only: there are many per minute. */
  #sayUnreached(reason: string): void {
    const news = this.#outage.failed();
    const fields = news?.kind === 'lasts' ? { reason, away_s: secondsOf(news.forMs) } : { reason };
    this.#given.logger[news ? 'warn' : 'debug'](fields, 'MCP server cannot be reached');
  }

  #watchTools(session: Session): ToolWatch {
    // A server that was lost may offer other things when it is back.
    if (this.#tools !== null) this.#revision = randomUUID();
    let isFirst = true;
    const read = async (): Promise<ToolList> => {
      const list = await this.#read(session).catch(async (error: unknown) => {
        if (this.#session === session && session.holdsSessionId() && (await session.isForgotten()))
          this.giveUp(session, 'the server has ended the session');
        throw error;
      });
      this.#takeTools(list, isFirst);
      isFirst = false;
      return list;
    };
    const offersChanged = (): void => void (this.#revision = randomUUID());
    return watchTools({ session, read, offersChanged, logger: this.#given.logger });
  }

  #read(session: Session): Promise<ToolList> {
    return readTools({
      session,
      server: this.#given.server.name,
      previous: this.#tools,
      signal: this.#stopping.signal,
      logger: this.#given.logger,
      schemas: this.#given.schemas,
      hide: this.#given.hide,
      offers: declaredOffers(session.client, this.#revision),
    });
  }

  /** A list that is as it was is reported once for each connection. */
  #takeTools(list: ToolList, isFirst: boolean): void {
    const before = this.#tools;
    this.#tools = list;
    if (isFirst || before === null || !isSameList(before, list)) this.#given.onTools(list);
  }

  #report(status: ServerStatus, error?: string, outage?: ServerOutage): void {
    this.#status = status;
    this.#given.onStatus(status, error, outage);
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });
}
