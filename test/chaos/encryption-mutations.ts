/** The protections of encrypted directives and runs, each with what takes it out.
 *  It must not hold a patch that no test notices. */
import { type Patch, patch } from './patch.ts';

/** Of what only sender and worker read. */
export const ENCRYPTION_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'encrypted-tool': [
    patch(
      'encrypted-tool',
      "return utf8(`${JSON.stringify(['adjutant', 1, AES_CODEC, keyId, request, id, field])}\\n`);",
    ),
  ],
  'encrypted-id': [
    patch(
      'encrypted-tool',
      "return utf8(`${JSON.stringify(['adjutant', 1, AES_CODEC, keyId, request, field, call])}\\n`);",
    ),
  ],
  'encrypted-tenant': [
    patch('encrypted-tenant', 'if (false) return unreadable(keyOfOthers(keyId, tenant));'),
  ],
  'encrypted-mixture': [patch('encrypted-mixture', 'if (false) return unreadable(notReadable(keyId));')],
  'encrypted-answer': [patch('encrypted-answer', 'if (payload === null) return signal;')],
};

/** Of encrypted runs. */
export const ENCRYPTED_RUN_MUTATIONS: Readonly<Record<string, readonly Patch[]>> = {
  'encrypted-run-tenant': [patch('encrypted-run-tenant', 'if (true) return codec.decode(payload, place);')],
  'encrypted-run-agent': [
    patch('encrypted-run-agent', "return { request, id: RUN, field: 'start', call: ['run'] };"),
  ],
  'encrypted-run-log': [patch('encrypted-run-log', 'return [entry];')],
  'encrypted-run-tool': [patch('encrypted-run-tool', 'return name;')],
  'encrypted-run-reason': [
    patch('encrypted-run-reason', "return typeof reason === 'string' ? reason : encryptedNote(keyId);"),
  ],
  'encrypted-run-answer': [patch('encrypted-run-answer', 'if (isEnd(signal)) return signal;')],
  'encrypted-run-document': [patch('encrypted-run-document', 'return encodedIn(sealed) === null;')],
  'encrypted-run-ended': [
    patch('encrypted-run-ended', 'if (run.later) return leaveToOthers(parts, requestId);'),
  ],
  'encrypted-run-decision': [patch('encrypted-run-decision', 'if (false)')],
};
