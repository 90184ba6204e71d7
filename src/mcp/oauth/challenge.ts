/** Asks a server without a token what it wants of one.
 *  It must never call a tool, nor leave a session open. */
import { SILENT } from '../../platform/telemetry/logger.ts';
import { isTimeout, systemCode } from '../connect-fault.ts';
import { openSession } from '../open-session.ts';
import { type McpServerOptions, PROBE_MS } from '../server-options.ts';
import { LoginFault } from './login-fault.ts';
import type { Challenge } from './renewal.ts';
import type { TokenSource } from './token-source.ts';

/** `challenge`: empty when the server asks for nothing at the handshake. `fault`: why it does not answer; null: it does. */
export async function challengeOf(
  server: McpServerOptions,
  signal: AbortSignal,
): Promise<{ readonly challenge: Challenge; readonly fault: string | null }> {
  let challenge: Challenge | null = null;
  const tokens: TokenSource = {
    token: () => Promise.resolve(undefined),
    refused: (_used, { resourceMetadataUrl, scope }) => {
      challenge = { resourceMetadataUrl, scope };
      return Promise.reject(new LoginFault('auth', 'no login exists'));
    },
    secrets: () => [],
    settled: () => Promise.resolve(),
    summary: () => Promise.resolve(null),
  };
  const memory = { legacyOnly: false, sseOnly: false, announced: 0 };
  const opened = await openSession({
    server,
    tokens,
    memory,
    stopped: signal,
    probeTimeoutMs: PROBE_MS,
    logger: SILENT,
  });
  if (opened.ok) await opened.session.end('asked for its challenge');
  const isSilent = !opened.ok && challenge === null && hasNoAnswer(opened.error);
  return { challenge: challenge ?? {}, fault: isSilent ? opened.fault.message : null };
}

/** Another answer than a challenge ends no login: where to log in may be at the usual place. */
function hasNoAnswer(error: unknown): boolean {
  return isTimeout(error) || systemCode(error) !== null || isFailedFetch(error);
}

/** A certificate, or a port that fetch refuses, has no code of the system. */
function isFailedFetch(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1)
    if (cause instanceof TypeError && cause.message === 'fetch failed') return true;
  return false;
}
