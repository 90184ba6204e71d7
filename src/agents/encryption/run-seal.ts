// Encrypts what the turn of an encrypted run writes and asks for, with the key of its start: the document, signals, directives, children.
// Must never let pass what it cannot encrypt, nor change what the core decided.
import {
  ENCRYPTED,
  encryptableFields,
  encryptedNote,
  type PayloadCodec,
  type PayloadPlace,
} from '../../contract/encrypted/encrypted.ts';
import { askPlace, historyPlace, runPlaceOf, signalPlace } from '../../contract/encrypted/encrypted-run.ts';
import { normalizeError } from '../../contract/error-envelope.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import { redact } from '../../contract/json/redaction.ts';
import { encryptOne, type EncryptedDirective } from '../../platform/encryption/encrypted-directive.ts';
import { sealError, sealFor } from '../../platform/encryption/encrypted-result.ts';
import { parted, SEEN_FIELD } from '../../platform/encryption/encrypted-run.ts';
import { type EncryptedForm, encryptValue } from '../../platform/encryption/payload-value.ts';
import { stateOf } from '../core/run-state.ts';
import type { Folded } from '../turn/fold.ts';
import { shownData, shownReason, shownState, shownTool } from './shown-run.ts';
import type { EmittedSignal, JsonObject, LogEntry, RunDocument, RunSpec } from '../turn/transition.ts';

/** With what an encrypted run is encrypted. */
export interface RunSeal {
  readonly codec: PayloadCodec;
  readonly keyId: string;
  /** The request of the run, as its tenant knows it. */
  readonly request: string;
}

type Made = Folded['directives'][number];

function seal({ codec, keyId }: RunSeal, value: unknown, place: PayloadPlace): Promise<EncryptedForm> {
  return encryptValue(codec, value, place, keyId);
}

/** Those of the service that no worker executes. */
const SAID: ReadonlySet<string> = new Set(['emit_tool_error', 'emit_request_error']);

/** The type of a directive that cannot be encrypted; null: there is none. */
export function unsealable({ directives }: Pick<Folded, 'directives'>): string | null {
  const found = directives.find(({ type }) => !SAID.has(type) && encryptableFields(type).length === 0);
  return found?.type ?? null;
}

/** The records of the turn, encrypted. `spec`: that of the run, in clear. */
export async function sealFolded(run: RunSeal, folded: Folded, spec: RunSpec): Promise<Folded> {
  const { document } = folded;
  const [sealed, signals, directives] = await Promise.all([
    sealDocument(run, document, spec),
    Promise.all(
      folded.signals.map(async ({ signal, cause }) => ({
        signal: await sealSignal(run, signal, document),
        cause,
      })),
    ),
    Promise.all(folded.directives.map(async (directive) => sealDirective(run, directive, document))),
  ]);
  return { document: sealed, signals, directives, log: folded.log.flatMap((entry) => hidden(run, entry)) };
}

/** The log entry without its text, which may be content. */
function hidden({ keyId }: RunSeal, { level }: LogEntry): LogEntry[] {
  // @guard encrypted-run-log
  if (level === 'info') return [];
  const message = 'an encrypted run reports something that only its readers may see';
  return [{ level, message, details: { key_id: keyId } }];
}

/** The members of the state that its readers see with the key; the others only engines read. */
const SEEN = ['messages', 'result', 'details', 'error', 'termination_reason'] as const;

async function sealDocument(run: RunSeal, document: RunDocument, spec: RunSpec): Promise<RunDocument> {
  const { request } = run;
  const state = stateOf(document);
  const seen = Object.fromEntries(SEEN.map((name) => [name, state[name]]));
  const inner = Object.fromEntries(
    Object.entries(state).filter(([name]) => !(SEEN as readonly string[]).includes(name)),
  );
  const { outbox } = document;
  const [seenForm, sealed, held] = await Promise.all([
    seal(run, { query: spec.query, ...seen }, runPlaceOf(request, SEEN_FIELD)),
    seal(run, { inner, outbox }, runPlaceOf(request, STATE_FIELD)),
    heldForms(run, document),
  ]);
  const shown = shownState(document, run.keyId, { seen: seenForm, held });
  const entries = outbox.map(({ id, kind }) => ({ id, kind })) as RunDocument['outbox'];
  return { ...document, outbox: entries, inner: shown, sealed };
}

export const STATE_FIELD = 'state';
export const SPEC_FIELD = 'spec';

async function heldForms(run: RunSeal, document: RunDocument): Promise<ReadonlyMap<string, object>> {
  const held = Object.entries(stateOf(document).held);
  return new Map(
    await Promise.all(
      held.map(async ([id, { call }]) => {
        const asked = redact(jsonSafe(call.arguments ?? {}));
        const form = await seal(run, asked, askPlace(run.request, id));
        return [id, form] as const;
      }),
    ),
  );
}

/** The spec as a turn writes it. */
export async function sealSpec(run: RunSeal, spec: RunSpec): Promise<RunSpec> {
  const { query, messages, overrides } = spec;
  const [secret, open] = parted(overrides);
  const sealed = await seal(run, { query, messages, overrides: secret }, runPlaceOf(run.request, SPEC_FIELD));
  return {
    ...spec,
    query: encryptedNote(run.keyId),
    messages: [],
    overrides: open,
    sealed,
  };
}

/** `request`: in whose log it will be; default: the run's own. */
export async function sealSignal(
  run: RunSeal,
  signal: EmittedSignal,
  document: RunDocument,
  request = run.request,
): Promise<EmittedSignal> {
  const { type, data } = signal;
  const form = await seal(run, data, signalPlace(request, type, data));
  return { ...signal, data: { ...shownData(signal, document, run.keyId), ...form } };
}

/** The members that the core itself notes of a directive. */
const NOTED = ['request_id', 'run_id', 'iteration', 'strategy', 'agent', 'arguments_edited'];

async function sealDirective(run: RunSeal, directive: Made, document: RunDocument): Promise<Made> {
  const noted = Object.entries(directive.metadata as JsonObject).filter(([name]) => NOTED.includes(name));
  const named = { ...directive, metadata: Object.fromEntries(noted) } as unknown as Made;
  switch (named.type) {
    case 'emit_tool_error':
      return sealToolError(run, named as Extract<Made, { type: 'emit_tool_error' }>, document);
    case 'emit_request_error':
      return sealRequestError(run, named as Extract<Made, { type: 'emit_request_error' }>);
    default:
      return encryptOne(
        run.codec,
        named as unknown as EncryptedDirective,
        run.keyId,
      ) as Promise<unknown> as Promise<Made>;
  }
}

async function sealToolError(
  { codec, keyId, request }: RunSeal,
  directive: Extract<Made, { type: 'emit_tool_error' }>,
  document: RunDocument,
): Promise<Made> {
  const place = { request, id: directive.id, type: directive.type };
  const { error: given, tool_name } = directive as { error: unknown; tool_name: string };
  const error = await sealError(sealFor(codec, keyId, place), normalizeError(given));
  return { ...directive, tool_name: shownTool(tool_name, document), error } as Made;
}

async function sealRequestError(
  run: RunSeal,
  directive: Extract<Made, { type: 'emit_request_error' }>,
): Promise<Made> {
  const { reason, message, metadata } = directive as JsonObject;
  const form = await seal(run, { reason, message }, signalPlace(run.request, 'ai.request.error', {}));
  return {
    ...directive,
    reason: shownReason(reason, run.keyId),
    message: encryptedNote(run.keyId),
    metadata: { ...(metadata as JsonObject), [ENCRYPTED]: form[ENCRYPTED] },
  } as Made;
}

/** The messages of a conversation, for its next run. */
export async function sealHistory(
  run: RunSeal,
  {
    conversation_id,
    messages,
  }: { readonly conversation_id: string; readonly messages: readonly JsonObject[] | null },
): Promise<JsonObject[]> {
  const form = await seal(run, messages, historyPlace(conversation_id));
  return [{ role: 'user', content: encryptedNote(run.keyId), ...form }];
}
