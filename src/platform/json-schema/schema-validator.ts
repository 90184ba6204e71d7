/** JSON Schema, compiled once and used often: whether a value fits, and if not, where. Has no time limit of its own.
 *  It must never fetch a reference, keep a schema that is no longer used, or throw at a schema it cannot compile. */
import addFormatsModule from 'ajv-formats';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { dialectOf, type SchemaDialect, usablePart } from './usable-part.ts';

/** null: the value fits. The root names the value in the faults' paths. */
export type SchemaValidator = (value: unknown, root: string) => SchemaFault[] | null;

export type CompiledSchema =
  /** `unchecked`: what of the schema cannot be compiled, in words; null: nothing. */
  | { readonly ok: true; readonly validate: SchemaValidator; readonly unchecked: string | null }
  | { readonly ok: false; readonly reason: string };

/** The part of the schema that cannot be compiled; null: none. */
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

export interface SchemaFault {
  readonly path: string;
  readonly message: string;
}

function schemaFault(error: ErrorObject, root: string): SchemaFault {
  const path = pathOf(root, error.instancePath);
  const params: Record<string, unknown> = error.params;
  switch (error.keyword) {
    case 'required':
    case 'dependentRequired':
      return { path: member(path, String(params['missingProperty'])), message: 'is required' };
    case 'additionalProperties':
      return { path: member(path, String(params['additionalProperty'])), message: 'is not allowed' };
    case 'unevaluatedProperties':
      return { path: member(path, String(params['unevaluatedProperty'])), message: 'is not allowed' };
    case 'enum':
      return { path, message: `must be one of ${listed(params['allowedValues'])}` };
    case 'const':
      return { path, message: `must be ${JSON.stringify(params['allowedValue'])}` };
    default:
      return { path, message: error.message ?? 'is not valid' };
  }
}

function listed(values: unknown): string {
  const texts = Array.isArray(values) ? values.map((value) => JSON.stringify(value)) : [];
  return texts.length > 20 ? `${texts.slice(0, 20).join(', ')}, …` : texts.join(', ');
}

/** Turns a JSON pointer into the path that a reader of the arguments would write. */
function pathOf(root: string, pointer: string): string {
  let path = root;
  for (const part of pointer.split('/').slice(1)) {
    path = member(path, part.replaceAll('~1', '/').replaceAll('~0', '~'));
  }
  return path;
}

function member(path: string, key: string): string {
  if (/^(0|[1-9]\d*)$/.test(key)) return `${path}[${key}]`;
  return /^[A-Za-z_$][\w$-]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
}
