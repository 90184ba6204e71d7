/** Checks values against foreign schemas: at once where that is harmless, else in a thread within a time limit.
 *  It must never block the main thread for more than a few milliseconds, nor let the schemas or values of one tenant delay others for long. */
import { CheckingThread, type MakeRequest, type ThreadVerdict } from './checking-thread.ts';
import { harmlessSize, holdsMoreThan, isQuickToCheck } from './harmless.ts';
import { type CompiledSchema, compileSchema, faultOf } from './schema-validator.ts';

export type { SchemaFault } from './schema-validator.ts';

/** `unusable`: nothing of the schema can be compiled. `unchecked`: it is unknown whether the value fits. `refused`: too many checks of the tenant wait. */
export type SchemaVerdict = Exclude<ThreadVerdict, { kind: 'passed_over' }>;

interface Threads {
  readonly usual: CheckingThread;
  /** For schemas of which a check of the tenant took too long, and for tenants that write such schemas. */
  readonly slow: CheckingThread;
  readonly authors: SlowAuthors;
}

export interface CheckOptions {
  /** The tenant for which it is checked: checks of several tenants have turns. Default: those without one have their turns together. */
  readonly tenant?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Whether the verdict may be `refused`, where too many checks of the tenant wait. Default: it waits with them. */
  readonly mayBeRefused?: boolean;
}

export interface CheckedSchema {
  /** Whether the value fits; `root` names it in the faults' paths. Never throws or rejects. */
  check(value: unknown, root: string, options?: CheckOptions): SchemaVerdict | Promise<SchemaVerdict>;
  /** Whether the whole schema can be compiled. Never throws or rejects. */
  compile(options?: CheckOptions): SchemaVerdict | Promise<SchemaVerdict>;
}

export interface SchemaChecks {
  /** Cheap: the schema is compiled when it is first needed. `author`: the tenant that wrote it; absent: a server of the operator's. */
  of(schema: Readonly<Record<string, unknown>>, author?: string): CheckedSchema;
  stop(): Promise<void>;
}

export interface SchemaChecksOptions {
  /** Most time that a check in a thread may take, compiling included, milliseconds. Default: 2 000. */
  readonly limitMs?: number;
}

const DEFAULT_LIMIT_MS = 2_000;

export function createSchemaChecks({ limitMs = DEFAULT_LIMIT_MS }: SchemaChecksOptions = {}): SchemaChecks {
  const threads: Threads = {
    usual: new CheckingThread({ limitMs }),
    slow: new CheckingThread({ limitMs }),
    authors: new SlowAuthors(),
  };
  let schemas = 0;
  return {
    of(schema, author) {
      schemas += 1;
      return new Schema(schema, { id: schemas, author, threads });
    },
    async stop() {
      await Promise.all([threads.usual.stop(), threads.slow.stop()]);
    },
  };
}

/** Bound of a schema that a tenant writes: more than any model provider takes. */
const MOST_AUTHORED_VALUES = 10_000;
const TOO_LARGE: SchemaVerdict = {
  kind: 'unchecked',
  reason: `it holds more than ${MOST_AUTHORED_VALUES} values, or texts of the same weight`,
  isSlow: false,
};

/** A check that holds a thread longer counts as slow. */
const SLOW_MS = 100;
/** The schemas of a tenant that wrote a slow one are checked beside those of others for so many times as long as it took. */
const SLOW_FOR = 30;
const MOST_SLOW = 1_000;

/** The tenants that have written a slow schema a moment ago. Each schema of a directive is a new one, so what is known of one schema does not help. */
class SlowAuthors {
  readonly #untilAt = new Map<string, number>();

  has(author: string): boolean {
    return (this.#untilAt.get(author) ?? 0) > performance.now();
  }

  note(author: string, heldMs: number): void {
    if (heldMs < SLOW_MS) return;
    if (this.#untilAt.size >= MOST_SLOW) this.#untilAt.clear();
    this.#untilAt.set(author, performance.now() + SLOW_FOR * heldMs);
  }
}

interface SchemaParts {
  readonly id: number;
  readonly author: string | undefined;
  readonly threads: Threads;
}

class Schema implements CheckedSchema {
  readonly #schema: Readonly<Record<string, unknown>>;
  readonly #parts: SchemaParts;
  #size: number | null | undefined;
  #compiled: CompiledSchema | null = null;
  /** Tenants with a check that took too long: the value is theirs. */
  readonly #slowFor = new Set<string>();

  constructor(schema: Readonly<Record<string, unknown>>, parts: SchemaParts) {
    this.#schema = schema;
    this.#parts = parts;
  }

  check(value: unknown, root: string, options?: CheckOptions): SchemaVerdict | Promise<SchemaVerdict> {
    const size = this.#harmlessSize();
    if (size !== null && isQuickToCheck(value, size)) return verdictOf(this.#compileHere(), value, root);
    return this.#checkElsewhere(() => ({ ...this.#request(), value: jsonOf(value), root }), options);
  }

  compile(options?: CheckOptions): SchemaVerdict | Promise<SchemaVerdict> {
    if (this.#harmlessSize() === null) {
      if (this.#parts.author !== undefined && holdsMoreThan(this.#schema, MOST_AUTHORED_VALUES))
        return TOO_LARGE;
      return this.#checkElsewhere(() => this.#request(), options);
    }
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

  async #checkElsewhere(make: MakeRequest, options: CheckOptions = {}): Promise<SchemaVerdict> {
    const { id: schemaId, author, threads } = this.#parts;
    const { tenant = author ?? '', signal, mayBeRefused = false } = options;
    const onHeld = (heldMs: number, held: ThreadVerdict): void => {
      if (author !== undefined) threads.authors.note(author, heldMs);
      if (held.kind === 'unchecked' && held.isSlow) this.#slowFor.add(tenant);
    };
    const isSlow = (): boolean =>
      this.#slowFor.has(tenant) || (author !== undefined && threads.authors.has(author));
    const order = { schemaId, tenant, make, mayBeRefused, signal, onHeld };
    const verdict = isSlow()
      ? await threads.slow.run({ ...order, isPassedOver: () => false })
      : await threads.usual.run({ ...order, isPassedOver: isSlow });
    return verdict.kind === 'passed_over' ? this.#checkElsewhere(make, options) : verdict;
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
