/** How the protections of runs under a key are removed.
 *  It must never hold a patch that no longer fits the sources. */
import { type Patch, patch } from './patch.ts';

/** Protections of runs under a key. */
export const ONCE_RUN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'once-run-held': [patch('once-held', 'if false then')],
  'once-run-to-end': [patch('once-run-to-end', "if not behind or (status ~= 'waiting' and id ~= RUN) then")],
  'once-run-chain': [patch('once-run-chain', 'if true then')],
  'once-run-begun': [
    patch(
      'once-run-begun',
      "local may_change = status == 'pending' and version == '0' and not is_to_end(state)",
    ),
  ],
  'once-run-latest': [patch('once-latest', 'local at = math.max(now, own.at)')],
  'once-run-cancelled': [patch('once-run-cancelled', 'return false;')],
  'once-run-ids': [patch('once-run-ids', 'spec: { ...own, ...(spec as StoredSpec) },')],
};
