/** One violation of a schema, in words that name the place: `arguments.items[2].name is required`.
 *  It must never quote the offending value. */
import type { ErrorObject } from 'ajv';

export interface SchemaFault {
  readonly path: string;
  readonly message: string;
}

export function schemaFault(error: ErrorObject, root: string): SchemaFault {
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
