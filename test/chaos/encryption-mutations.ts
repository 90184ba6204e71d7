/** The protections of encrypted directives and runs, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

/** Of what only sender and worker read. */
export const ENCRYPTION_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'encrypted-tool': [
    patch('src/encryption/aes-codec.ts', 'keyId, request, id, field, call]', 'keyId, request, id, field]'),
  ],
  'encrypted-id': [
    patch('src/encryption/aes-codec.ts', 'keyId, request, id, field, call]', 'keyId, request, field, call]'),
  ],
  'encrypted-tenant': [
    patch('src/worker/encrypted-attempt.ts', 'if (!isKeyOf(keys, tenant, keyId))', 'if (false)'),
  ],
  'encrypted-mixture': [
    patch('src/worker/encrypted-attempt.ts', 'if (mixtureOf(directive).length > 0)', 'if (false)'),
  ],
  'encrypted-answer': [
    patch(
      'src/encryption/sealed-signal.ts',
      'if (payload === null) throw inClear(RESULT_FIELD, asked);',
      'if (payload === null) return signal;',
    ),
  ],
};

/** Of encrypted runs. */
export const ENCRYPTED_RUN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'encrypted-run-tenant': [
    patch('src/encryption/payload-keys.ts', 'if (isKeyOf(keys, tenant, payload.key_id))', 'if (true)'),
  ],
  'encrypted-run-agent': [
    patch(
      'src/contract/encrypted/encrypted-run.ts',
      "call: ['run', agent, conversation_id]",
      "call: ['run']",
    ),
  ],
  'encrypted-run-log': [
    patch('src/engine/run-seal.ts', "if (level === 'info') return [];", 'return [entry];'),
  ],
  'encrypted-run-tool': [
    patch('src/engine/shown-run.ts', "return isOwn ? name : 'unknown';", 'return name;'),
  ],
  'encrypted-run-reason': [
    patch(
      'src/engine/shown-run.ts',
      "typeof reason === 'string' && REASONS.has(reason)",
      "typeof reason === 'string'",
    ),
  ],
  'encrypted-run-answer': [
    patch(
      'src/engine/run-vault.ts',
      'return await openEnd(codec, signal, { request, whole });',
      'return signal;',
    ),
  ],
  'encrypted-run-document': [
    patch(
      'src/engine/run-vault.ts',
      'encodedIn(sealed) === null && TERMINAL_RUN_STATUSES.has(status)',
      'encodedIn(sealed) === null',
    ),
  ],
  'encrypted-run-ended': [
    patch('src/engine/turn.ts', 'if (run.later || isLockedEnd(run))', 'if (run.later)'),
  ],
  'encrypted-run-decision': [
    patch('src/engine/run-vault.ts', 'if (type === DECISION && edited !== undefined)', 'if (false)'),
  ],
};
