/** Checks values against foreign schemas: at once where that is harmless, else in a thread within a time limit.
 *  It must never block the main thread for more than a few milliseconds, nor let one schema delay others for ever. */
import { CheckingThread, type MakeRequest, type ThreadVerdict } from './checking-thread.ts';
import { harmlessSize, isQuickToCheck } from './harmless.ts';
import { type CompiledSchema, compileSchema, faultOf } from './schema-validator.ts';

export type { SchemaFault } from './schema-validator.ts';

/** `unusable`: nothing of the schema can be compiled. `unchecked`: it is unknown whether the value fits. */
export type SchemaVerdict = Exclude<ThreadVerdict, { kind: 'passed_over' }>;

interface Threads {
  readonly usual: CheckingThread;
  /** For schemas with an earlier check that took too long. */
  readonly slow: CheckingThread;
}

export interface CheckedSchema {
  /** Whether the value fits; `root` names it in the faults' paths. Never throws or rejects. */
  check(value: unknown, root: string, signal?: AbortSignal): SchemaVerdict | Promise<SchemaVerdict>;
  /** Whether the whole schema can be compiled. Never throws or rejects. */
  compile(signal?: AbortSignal): SchemaVerdict | Promise<SchemaVerdict>;
}

export interface SchemaChecks {
  /** Cheap: the schema is compiled when it is first needed. */
  of(schema: Readonly<Record<string, unknown>>): CheckedSchema;
  stop(): Promise<void>;
}

export interface SchemaChecksOptions {
  /** Most time that a check in a thread may take, compiling included, milliseconds. Default: 2 000. */
  readonly limitMs?: number;
}

const DEFAULT_LIMIT_MS = 2_000;

export function createSchemaChecks({ limitMs = DEFAULT_LIMIT_MS }: SchemaChecksOptions = {}): SchemaChecks {
  const threads: Threads = { usual: new CheckingThread({ limitMs }), slow: new CheckingThread({ limitMs }) };
  let schemas = 0;
  return {
    of(schema) {
      schemas += 1;
      return new Schema(schema, schemas, threads);
    },
    async stop() {
      await Promise.all([threads.usual.stop(), threads.slow.stop()]);
    },
  };
}

class Schema implements CheckedSchema {
  readonly #schema: Readonly<Record<string, unknown>>;
  readonly #id: number;
  readonly #threads: Threads;
  #size: number | null | undefined;
  #compiled: CompiledSchema | null = null;
  #isSlow = false;

  constructor(schema: Readonly<Record<string, unknown>>, id: number, threads: Threads) {
    this.#schema = schema;
    this.#id = id;
    this.#threads = threads;
  }

  check(value: unknown, root: string, signal?: AbortSignal): SchemaVerdict | Promise<SchemaVerdict> {
    const size = this.#harmlessSize();
    if (size !== null && isQuickToCheck(value, size)) return verdictOf(this.#compileHere(), value, root);
    return this.#checkElsewhere(() => ({ ...this.#request(), value: jsonOf(value), root }), signal);
  }

  compile(signal?: AbortSignal): SchemaVerdict | Promise<SchemaVerdict> {
    if (this.#harmlessSize() === null) return this.#checkElsewhere(() => this.#request(), signal);
    const reason = faultOf(this.#compileHere());
    return reason === null ? { kind: 'passed' } : { kind: 'unusable', reason };
  }

  #harmlessSize(): number | null {
    if (this.#size === undefined) this.#size = harmlessSize(this.#schema);
    return this.#size;
  }

  #compileHere(): CompiledSchema {
    return (this.#compiled ??= compileSchema(this.#schema));
  }

  #request(): ReturnType<MakeRequest> {
    return { schema: jsonOf(this.#schema), root: '' };
  }

  async #checkElsewhere(make: MakeRequest, signal?: AbortSignal): Promise<SchemaVerdict> {
    if (!this.#isSlow) {
      const verdict = await this.#threads.usual.run(this.#id, make, signal);
      this.#isSlow ||= verdict.kind === 'passed_over' || (verdict.kind === 'unchecked' && verdict.isSlow);
      if (verdict.kind !== 'passed_over') return verdict;
    }
    const verdict = await this.#threads.slow.run(this.#id, make, signal);
    return verdict.kind === 'passed_over' ? this.#checkElsewhere(make, signal) : verdict;
  }
}

function verdictOf(compiled: CompiledSchema, value: unknown, root: string): SchemaVerdict {
  if (!compiled.ok) return { kind: 'unusable', reason: compiled.reason };
  const faults = compiled.validate(value, root);
  return faults === null ? { kind: 'passed' } : { kind: 'faults', faults };
}

/** Throws for values that JSON cannot hold. */
function jsonOf(value: unknown): string {
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) throw new TypeError('not JSON');
  return json;
}
