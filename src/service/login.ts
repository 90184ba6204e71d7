// The login of people at an issuer, joined from the store: its seal, what was used, and its log.
// Must never put a code, token or secret into the log.
import type { Logger } from 'pino';
import type { KnowsTenant } from '../http/access/jwt.ts';
import { createLoginSeal } from '../http/access/login-seal.ts';
import { createOidcLogin } from '../http/access/oidc.ts';
import { createSpentLogins } from '../http/access/spent-logins.ts';
import type { LoginDoor } from '../http/routes/oidc.ts';
import type { Config } from '../config/config.ts';
import { sharedSecret } from '../store/access/shared-secret.ts';
import type { Store } from './store.ts';

const LOG_EACH_MS = 1_000;

export function createLogin(
  { connection, keys }: Store,
  rules: NonNullable<Config['access']['oidc']>,
  { knowsTenant, logger }: { knowsTenant: KnowsTenant; logger: Logger },
): LoginDoor {
  const seal = createLoginSeal(async () => sharedSecret(connection, keys.seal));
  const spend = createSpentLogins(connection, keys);
  let nextAt = -Infinity;
  const onTrouble = (reason: string): void => {
    // Whoever has no account must not fill the log.
    if (performance.now() < nextAt) return;
    nextAt = performance.now() + LOG_EACH_MS;
    logger.warn({ reason, issuer: rules.issuer }, 'a login at the issuer failed');
  };
  return {
    oidc: createOidcLogin({ rules, seal, spend, knowsTenant, onTrouble }),
    seal,
    name: rules.name ?? new URL(rules.issuer).host,
    base: rules.redirect_base,
    sessionMs: rules.session_ms,
    endsAtIssuer: rules.post_logout === 'issuer',
  };
}
