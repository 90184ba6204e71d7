/** Asks a server without a token what it wants of one.
 *  It must never call a tool, nor leave a session open. */
import { SILENT } from '../../telemetry/logger.ts';
import { openSession } from '../open-session.ts';
import { type McpServerOptions, PROBE_MS } from '../server-options.ts';
import { LoginFault } from './login-fault.ts';
import type { Challenge } from './renewal.ts';
import type { TokenSource } from './token-source.ts';

/** `challenge`: empty when the server asks for nothing at the handshake. `reached`: false when it does not answer. */
export async function challengeOf(
  server: McpServerOptions,
  signal: AbortSignal,
): Promise<{ readonly challenge: Challenge; readonly fault: string | null }> {
  let challenge: Challenge | null = null;
  const tokens: TokenSource = {
    token: () => Promise.resolve(undefined),
    refused: (_used, { resourceMetadataUrl, scope }) => {
      challenge = { resourceMetadataUrl, scope };
      return Promise.reject(new LoginFault('auth', 'nobody has logged in'));
    },
    secrets: () => [],
    summary: () => Promise.resolve(null),
  };
  const memory = { legacyOnly: false, sseOnly: false };
  const opened = await openSession({
    server,
    tokens,
    memory,
    stopped: signal,
    probeTimeoutMs: PROBE_MS,
    logger: SILENT,
  });
  if (opened.ok) await opened.session.end('asked for its challenge');
  const fault = opened.ok || challenge !== null ? null : opened.fault.message;
  return { challenge: challenge ?? {}, fault };
}
