/** Components of the API's description: named schemas, discriminated unions, and no construct that generators of clients cannot read.
 *  Names of components are those of the published schemas. */
import * as z from 'zod';
import { READ_TYPES, WRITTEN_TYPES } from '../contract/wire-schema.ts';

/** The part of an OpenAPI document that is read here. */
export interface Document {
  readonly paths?: unknown;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

type Schema = Record<string, unknown>;

/** A registry of its own: names of this document must not leak into schemas that are generated elsewhere. */
export function componentRegistry() {
  const registry = z.registry<{ id?: string | undefined }>();
  for (const [name, schema] of Object.entries({ ...READ_TYPES, ...WRITTEN_TYPES }))
    if (!registry.has(schema))
      registry.add(schema, { id: z.globalRegistry.get(schema)?.id ?? componentName(name) });
  return registry;
}

/** `submitted-directive.tool_exec`: ToolExec, `signal.ai.tool.result`: SignalToolResult, `request-view`: RequestView. */
function componentName(name: string): string {
  const subject = name.replace(/^submitted-directive\./, '').replace(/^signal\.ai\./, 'signal.');
  return subject
    .split(/[-._]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

/** Notes of a schema (`describe`, `meta`) are in the global registry, which that of the components hides. */
export function addNotes({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodType;
  jsonSchema: Schema;
}): void {
  const { id: _, ...notes } = z.globalRegistry.get(zodSchema) ?? {};
  Object.assign(jsonSchema, notes);
  const { def } = zodSchema._zod as unknown as { def: { discriminator?: string } };
  if (def.discriminator !== undefined) jsonSchema['discriminator'] = { propertyName: def.discriminator };
}

const REFERENCE = '#/components/schemas/';
const REFERENCES = /"#\/components\/schemas\/([^"]+)"/g;

/** The document without unused components, with discriminators, and with enumerations instead of constants. */
export function readable(document: Document): Document {
  const { components, ...others } = withShortNames(withoutUnused(document));
  const schemas = components?.schemas ?? {};
  eachSchema([others, schemas], (schema) => {
    if ('const' in schema) {
      schema['enum'] = [schema['const']];
      delete schema['const'];
    }
  });
  eachSchema([others, schemas], (schema) => discriminate(schema, schemas));
  return { ...others, components: { ...components, schemas } };
}

/** Each component exists as an input and as an output; about half of them are never used. */
function withoutUnused(document: Document): Document {
  const schemas = document.components?.schemas ?? {};
  const used = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(REFERENCES)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(schemas[name] ?? null);
    }
  };
  visit({ ...document, components: {} });
  const kept = Object.entries(schemas).filter(([name]) => used.has(name));
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(kept) } };
}

/** An input is called `…Input` only where its output differs. */
function withShortNames(document: Document): Document {
  const schemas = document.components?.schemas ?? {};
  const shortOf = (name: string): string => {
    const short = name.replace(/Input$/, '');
    return short in schemas && JSON.stringify(schemas[short]) !== JSON.stringify(schemas[name])
      ? name
      : short;
  };
  const { components, ...others } = JSON.parse(
    JSON.stringify(document).replaceAll(REFERENCES, (_, name: string) => `"${REFERENCE}${shortOf(name)}"`),
  ) as Document;
  const renamed = Object.entries(components?.schemas ?? {}).map(([name, schema]) => [shortOf(name), schema]);
  return { ...others, components: { ...components, schemas: Object.fromEntries(renamed) as never } };
}

/** OpenAPI knows discriminators of references only. */
function discriminate(schema: Schema, schemas: Readonly<Record<string, Schema>>): void {
  const { discriminator, oneOf, anyOf } = schema as Union;
  if (discriminator === undefined) return;
  const mapping: Record<string, string> = {};
  for (const { $ref = '' } of oneOf ?? anyOf ?? []) {
    const option = schemas[$ref.slice(REFERENCE.length)] as Option | undefined;
    for (const value of option?.properties?.[discriminator.propertyName]?.enum ?? []) mapping[value] = $ref;
  }
  const isWhole = Object.keys(mapping).length > 0 && (oneOf ?? anyOf ?? []).every(({ $ref }) => $ref);
  if (isWhole) discriminator.mapping = mapping;
  else delete schema['discriminator'];
}

interface Union {
  readonly discriminator?: { readonly propertyName: string; mapping?: Record<string, string> };
  readonly oneOf?: readonly { readonly $ref?: string }[];
  readonly anyOf?: readonly { readonly $ref?: string }[];
}

interface Option {
  readonly properties?: Readonly<Record<string, { readonly enum?: readonly string[] } | undefined>>;
}

/** Keywords whose values are data. */
const DATA = new Set(['enum', 'default', 'examples', 'example', 'required', 'mapping']);

function eachSchema(value: unknown, visit: (schema: Schema) => void): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const each of value) eachSchema(each, visit);
    return;
  }
  visit(value as Schema);
  for (const [name, child] of Object.entries(value)) {
    if (name === 'properties') eachSchema(Object.values(child as object), visit);
    else if (!DATA.has(name)) eachSchema(child, visit);
  }
}
