/** The thread that compiles foreign schemas and checks values against them.
 *  It must never be waited for without a time limit: its input may keep it busy for ever. */
import { parentPort } from 'node:worker_threads';
import { RecentlyUsed } from './recently-used.ts';
import { type CompiledSchema, compileSchema, faultOf, type SchemaFault } from './schema-validator.ts';

/** One check. Schema and value are JSON. */
export interface CheckRequest {
  readonly schemaId: number;
  /** Absent: the thread has received it before. */
  readonly schema?: string;
  /** Absent: the schema is only compiled. */
  readonly value?: string;
  readonly root: string;
}

/** The messages of the thread: that it is ready, then one verdict for each request. */
export type CheckReply =
  | { readonly kind: 'ready' }
  /** `heldMs`: the time of the processor that it took: on a busy machine a quick check is no slow one. */
  | { readonly kind: 'checked'; readonly verdict: CheckVerdict; readonly heldMs: number };

export type CheckVerdict =
  | { readonly kind: 'passed' }
  | { readonly kind: 'faults'; readonly faults: SchemaFault[] }
  | { readonly kind: 'unusable'; readonly reason: string };

/** Compiled schemas that are kept; the caller counts along and sends a dropped schema again. */
export const KEPT_SCHEMAS = 500;

const compiled = new RecentlyUsed<CompiledSchema>(KEPT_SCHEMAS);

function schemaOf({ schemaId, schema }: CheckRequest): CompiledSchema {
  const known = compiled.get(schemaId);
  if (known !== undefined) return known;
  const made = compileSchema(JSON.parse(schema ?? 'false') as Record<string, unknown>);
  compiled.set(schemaId, made);
  return made;
}

function check(request: CheckRequest): CheckVerdict {
  const schema = schemaOf(request);
  const fault = faultOf(schema);
  if (!schema.ok || (request.value === undefined && fault !== null))
    return { kind: 'unusable', reason: fault ?? '' };
  if (request.value === undefined) return { kind: 'passed' };
  const faults = schema.validate(JSON.parse(request.value), request.root);
  return faults === null ? { kind: 'passed' } : { kind: 'faults', faults };
}

function reply(request: CheckRequest): CheckReply {
  const before = process.threadCpuUsage();
  const verdict = check(request);
  const { user, system } = process.threadCpuUsage(before);
  return { kind: 'checked', verdict, heldMs: (user + system) / 1_000 };
}

parentPort?.on('message', (request: CheckRequest) => parentPort?.postMessage(reply(request)));
parentPort?.postMessage({ kind: 'ready' } satisfies CheckReply);
