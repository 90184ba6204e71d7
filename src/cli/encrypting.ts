/** What `--encrypt` makes of a verb: it sends with the first key of the environment.
 *  It must never let a verb send in clear what was to be encrypted. */
import type { DirectiveClient } from '../contract/directive-client.ts';
import { usage } from './failure.ts';
import type { Invocation } from './invocation.ts';

/** Named in the help of each `--encrypt`. */
export const WITH_KEY = 'with the first key of ADJUTANT_ENCRYPTION_KEYS';

export interface EncryptOption {
  readonly encrypt?: boolean;
}

/** Throws a usage error where there is no key. */
export function encryptingWhere(given: Invocation, { encrypt }: EncryptOption): Invocation {
  return encrypt === true ? { ...given, client: encryptingOf(given) } : given;
}

function encryptingOf({ encrypting }: Invocation): DirectiveClient {
  if (encrypting !== null) return encrypting;
  throw usage(
    '--encrypt needs a key.',
    'Set ADJUTANT_ENCRYPTION_KEYS to <id>=<key>, with a key as `openssl rand -base64 32` prints it.',
  );
}
