// Says with how many keys this configuration reads what clients encrypt, and who must encrypt.
// Must never show a key, nor count it as a fault that an API alone has none.
import type { Config } from '../../config/config.ts';
import { advice, type Finding, fine } from './finding.ts';

const SUBJECT = 'encryption';
/** Tenants that are named. */
const MOST_NAMED = 10;

/** Nothing where the configuration does not know of encryption. */
export function encryptionFindings({ encryption, agents }: Pick<Config, 'encryption' | 'agents'>): Finding[] {
  if (encryption === null) return [];
  const { keys, variable, required } = encryption;
  const read =
    keys === null
      ? `${variable} is not set: an API needs none, an engine opens no encrypted run, a worker does not start`
      : `${keys.keys.size} ${keys.keys.size === 1 ? 'key' : 'keys'} in ${variable}`;
  const of = requiredOf(required);
  const says = of === null ? read : `${read}; what ${of} submits in clear is refused`;
  const isIdle = required === 'everyone' && keys === null && Object.keys(agents).length > 0;
  return [isIdle ? advice(SUBJECT, `${says}, so this engine runs no agent`, NO_RUNS) : fine(SUBJECT, says)];
}

const NO_RUNS = 'Give every engine the keys, as the workers; an API alone needs none.';

function requiredOf(required: NonNullable<Config['encryption']>['required']): string | null {
  if (required === 'everyone') return 'anybody';
  if (required.size === 0) return null;
  const more = required.size > MOST_NAMED ? ` or ${required.size - MOST_NAMED} others` : '';
  return `${[...required].slice(0, MOST_NAMED).join(', ')}${more}`;
}
