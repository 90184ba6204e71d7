/** JSON Schema, compiled once and used often: whether a value fits, and if not, where. Has no time limit of its own.
 *  It must never fetch a reference, keep a schema that is no longer used, or throw at a schema it cannot compile. */
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormatsModule from 'ajv-formats';
import { dialectOf, type SchemaDialect } from './schema-dialect.ts';
import { type SchemaFault, schemaFault } from './schema-fault.ts';
import { usablePart } from './usable-part.ts';

export type { SchemaFault } from './schema-fault.ts';

/** null: the value fits. The root names the value in the faults' paths. */
export type SchemaValidator = (value: unknown, root: string) => SchemaFault[] | null;

export type CompiledSchema =
  /** `unchecked`: what of the schema cannot be compiled, in words; null: nothing. */
  | { readonly ok: true; readonly validate: SchemaValidator; readonly unchecked: string | null }
  | { readonly ok: false; readonly reason: string };

/** What of the schema cannot be compiled; null: nothing. */
export function faultOf(compiled: CompiledSchema): string | null {
  return compiled.ok ? compiled.unchecked : compiled.reason;
}

type Schema = Readonly<Record<string, unknown>>;

const MAX_FAULTS = 20;
/** In a larger value, listing all faults would take too long. */
const MAX_LISTED_NODES = 1_000;

const OPTIONS: Options = {
  // Servers add keywords and formats of their own; an unknown one is no reason to refuse a call.
  strict: false,
  validateFormats: true,
  // A server's schema need not follow its own meta-schema; compiling finds what matters.
  validateSchema: false,
  // Else `toString` counts as there in every object, and a property of this name in a schema meets Object.prototype.
  ownProperties: true,
  logger: false,
};

// CommonJS seen from an ES module: the function is its own `default`.
const addFormats = addFormatsModule as unknown as (ajv: Ajv) => Ajv;

/** A schema that cannot be compiled as a whole is compiled without the parts that cannot. */
export function compileSchema(schema: Schema): CompiledSchema {
  const whole = compileWhole(schema, null);
  if (whole.ok) return whole;
  const { part, faults } = usablePart(schema);
  const loosened = faults.length === 0 ? whole : compileWhole(part, faults.join(', '));
  return loosened.ok ? loosened : whole;
}

function compileWhole(schema: Schema, unchecked: string | null): CompiledSchema {
  try {
    const first = compileOnce(schema, false);
    let all: ValidateFunction | null = null;
    const validate: SchemaValidator = (value, root) => {
      if (first(value)) return null;
      let errors = first.errors ?? [];
      if (isSmall(value)) {
        all ??= compileOnce(schema, true);
        if (!all(value)) errors = all.errors ?? errors;
      }
      return faultsOf(errors, root);
    };
    return { ok: true, validate, unchecked };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message.slice(0, 300) : 'cannot be compiled' };
  }
}

/** `$async` is a keyword of this library: with it every value would pass, and a fault would end the process. */
function compileOnce({ $async: _async, ...schema }: Schema, allErrors: boolean): ValidateFunction {
  // An instance keeps every schema it compiled, by its `$id`. One instance per schema frees the schema with its tool.
  const ajv = addFormats(createAjv(dialectOf(schema), { ...OPTIONS, allErrors }));
  return ajv.compile(schema);
}

function createAjv(dialect: SchemaDialect, options: Options): Ajv {
  if (dialect === '2020') return new Ajv2020(options);
  return dialect === '2019' ? new Ajv2019(options) : new Ajv(options);
}

/** Lists a missing branch of a union once, not once per branch. */
function faultsOf(errors: readonly ErrorObject[], root: string): SchemaFault[] {
  const faults = new Map<string, SchemaFault>();
  for (const error of errors) {
    const fault = schemaFault(error, root);
    faults.set(`${fault.path}\n${fault.message}`, fault);
    if (faults.size === MAX_FAULTS) break;
  }
  return [...faults.values()];
}

function isSmall(value: unknown): boolean {
  const open: unknown[] = [value];
  for (let seen = 0; open.length > 0; seen += 1) {
    if (seen + open.length > MAX_LISTED_NODES) return false;
    const next = open.pop();
    if (typeof next === 'object' && next !== null)
      open.push(...Object.values(next).slice(0, MAX_LISTED_NODES + 1));
  }
  return true;
}
