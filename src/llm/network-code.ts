// Why a connection failed, read from the code of the operating system or of the HTTP client.
// Must never call a request unsent that may have reached the provider.

/** Nothing left this machine, or no server accepted it. */
export const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Limits of the HTTP client itself. */
export const HTTP_TIMEOUTS: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

const NETWORK_CODE =
  /^(E[A-Z]{3,}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_TLS_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/;
const MAX_CAUSES = 8;

/** The code of an error or of one of its causes; null: it is not about the connection. */
export function networkCode(error: unknown): string | null {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && NETWORK_CODE.test(code)) return code;
    const first: unknown = current instanceof AggregateError ? current.errors[0] : undefined;
    current = first ?? current.cause;
  }
  return null;
}
