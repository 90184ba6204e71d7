/** Probes a server: connects, reads its tools once, measures both, and disconnects.
 *  It must never call a tool, nor leave a process or a stream behind. */
import { createSchemaChecks } from '../platform/json-schema/schema-checks.ts';
import type { ConnectFault } from './connect-fault.ts';
import { describe } from './connect-fault.ts';
import { SILENT } from '../platform/telemetry/logger.ts';
import { openSession } from './open-session.ts';
import type { LoginSummary } from './oauth/login.ts';
import type { LoginStore } from './oauth/login-store.ts';
import { tokensFor, type TokenSource } from './oauth/token-source.ts';
import { createKnownSecrets, type KnownSecrets } from '../contract/json/secret-text.ts';
import { secretsOfServer } from './server-secrets.ts';
import { type McpServerOptions, PROBE_MS } from './server-options.ts';
import type { Session } from './session.ts';
import type { ToolDefinition, ToolFault } from './tools/tool-definition.ts';
import { readTools } from './tools/tool-watch.ts';

export type Probe =
  | {
      readonly ok: true;
      readonly transport: Session['transportKind'];
      readonly tools: readonly ToolDefinition[];
      readonly faults: readonly ToolFault[];
      readonly connectMs: number;
      /** For one reading of the whole list. */
      readonly listMs: number;
      /** null: it needs none. */
      readonly login: LoginSummary | null;
    }
  /** `late`: the limit was reached; what the fault says is not the server's. */
  | { readonly ok: false; readonly fault: ConnectFault; readonly late: boolean };

export interface ProbeLimits {
  /** For everything but disconnecting, milliseconds. */
  readonly limitMs: number;
  readonly interrupt?: AbortSignal;
  /** Option of `McpPoolOptions`. */
  readonly logins?: LoginStore | null;
}

/** Never rejects. */
export async function probeServer(server: McpServerOptions, limits: ProbeLimits): Promise<Probe> {
  const tokens = tokensFor(server, limits.logins ?? null);
  const secrets = createKnownSecrets();
  const configured = secretsOfServer(server);
  secrets.add(() => configured);
  if (tokens !== null) secrets.add(() => tokens.secrets());
  return secrets.hideIn(await probed(server, tokens, { ...limits, hide: secrets.hideIn }));
}

async function probed(
  server: McpServerOptions,
  tokens: TokenSource | null,
  { limitMs, interrupt, hide }: ProbeLimits & { readonly hide: KnownSecrets['hideIn'] },
): Promise<Probe> {
  const limit = AbortSignal.timeout(limitMs);
  const stopped = interrupt === undefined ? limit : AbortSignal.any([limit, interrupt]);
  const startedAt = performance.now();
  const opened = await openSession({
    server,
    tokens,
    stopped,
    probeTimeoutMs: server.probeTimeoutMs ?? PROBE_MS,
    memory: { legacyOnly: false, sseOnly: false, announced: 0 },
    logger: SILENT,
  });
  if (!opened.ok) return failure(opened.fault, stopped.aborted, limitMs);
  const connectMs = performance.now() - startedAt;
  try {
    const list = await listed(opened.session, server.name, stopped, hide);
    return { ...list, connectMs, login: (await tokens?.summary()) ?? null };
  } catch (error) {
    return failure(unreadable(describe(error)), stopped.aborted, limitMs);
  } finally {
    await opened.session.end('probe finished');
  }
}

async function listed(session: Session, server: string, signal: AbortSignal, hide: KnownSecrets['hideIn']) {
  const startedAt = performance.now();
  const schemas = createSchemaChecks();
  const list = await readTools({ session, server, previous: null, signal, logger: SILENT, schemas, hide });
  const listMs = performance.now() - startedAt;
  const { definitions, faults } = list;
  return { ok: true, transport: session.transportKind, tools: definitions, faults, listMs } as const;
}

function unreadable(why: string): ConnectFault {
  return { type: 'network', message: `connected, but its tools cannot be read: ${why}`, passing: true };
}

function failure(fault: ConnectFault, late: boolean, limitMs: number): Probe {
  const message = `no answer within ${limitMs} ms`;
  return { ok: false, late, fault: late ? { type: 'network', message, passing: true } : fault };
}
