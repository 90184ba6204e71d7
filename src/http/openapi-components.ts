/** Components of the API's description: named schemas, discriminated unions, and no construct that generators of clients cannot read.
 *  Names of components are those of the published schemas. */
import * as z from 'zod';
import { directiveSchema, submissionBodySchema } from '../contract/directive/directive.ts';
import { messageSchema } from '../contract/model/message.ts';
import { operation } from '../contract/operations/operations.ts';
import type { OperationName } from '../contract/operations/routes.ts';
import { putScheduleBodySchema } from '../contract/schedule/schedule.ts';
import { signalSchema } from '../contract/signal/signal.ts';
import { openUnlessStrict, READ_TYPES, WRITTEN_TYPES } from '../contract/wire-schema.ts';

/** The part of an OpenAPI document that is read here. */
export interface Document {
  readonly paths?: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Described {
  readonly operationId: OperationName;
  readonly requestBody?: { required: boolean };
}

type Schema = Record<string, unknown>;

/** Members of unions and unions without custom types: named here alone, so that generated clients have types for them. */
const UNPUBLISHED: Readonly<Record<string, z.ZodType>> = {
  'known-signal': signalSchema,
  'known-directive': directiveSchema,
  'directive-batch': submissionBodySchema.options[1],
  'schedule-replacement': putScheduleBodySchema.options[0],
  'edited-schedule': putScheduleBodySchema.options[1],
  ...Object.fromEntries(messageSchema.options.map((each) => [`${each.shape.role.value}-message`, each])),
};

/** Component name of each schema that has one. */
const NAMED: ReadonlyMap<z.ZodType, string> = new Map(
  Object.entries({ ...READ_TYPES, ...WRITTEN_TYPES, ...UNPUBLISHED }).map(([name, schema]) => [
    schema,
    z.globalRegistry.get(schema)?.id ?? componentName(name),
  ]),
);
const NAMES: ReadonlySet<string> = new Set(NAMED.values());

/** A registry of its own: names of this document must not leak into schemas that are generated elsewhere. */
export function componentRegistry() {
  const registry = z.registry<{ id?: string | undefined }>();
  for (const [schema, id] of NAMED) registry.add(schema, { id });
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
export function addNotes(context: { zodSchema: z.core.$ZodTypes; jsonSchema: Schema }): void {
  const { zodSchema, jsonSchema } = context;
  openUnlessStrict(context);
  const { id: _, ...notes } = z.globalRegistry.get(zodSchema) ?? {};
  Object.assign(jsonSchema, notes);
  const { def } = zodSchema._zod;
  if ('discriminator' in def) jsonSchema['discriminator'] = { propertyName: def.discriminator };
}

const REFERENCE = '#/components/schemas/';
const REFERENCES = /"#\/components\/schemas\/([^"]+)"/g;

/** The document without unused components, with discriminators, and with enumerations instead of constants. */
export function readable(document: Document): Document {
  const { components, ...others } = withShortNames(withoutUnused(document));
  const schemas = components?.schemas ?? {};
  eachSchema([others, Object.values(schemas)], (schema) => {
    // The names of members are strings anyway.
    delete schema['propertyNames'];
    // Rules between members have no types: generators make `unknown` of them. The published schemas keep them.
    delete schema['not'];
    if (schema['type'] === 'object' && isRule(schema['anyOf'])) delete schema['anyOf'];
    if ('const' in schema) {
      schema['enum'] = [schema['const']];
      delete schema['const'];
    }
  });
  eachSchema([others, Object.values(schemas)], (schema) => discriminate(schema, schemas));
  for (const { operationId, requestBody } of Object.values(others.paths ?? {}).flatMap(
    Object.values<Described>,
  ))
    if (requestBody !== undefined) requestBody.required = operation(operationId).isBodyOptional !== true;
  return { ...others, components: { ...components, schemas } };
}

/** Each component exists as an input and as an output; about half of them are never used. A component comes after those that it refers to. */
function withoutUnused(document: Document): Document {
  const schemas = document.components?.schemas ?? {};
  const seen = new Set<string>();
  const used: [string, Schema][] = [];
  const visit = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(REFERENCES)) {
      if (seen.has(name)) continue;
      seen.add(name);
      visit(schemas[name] ?? null);
      used.push([name, schemas[name] ?? {}]);
    }
  };
  visit({ ...document, components: {} });
  return { ...document, components: { ...document.components, schemas: Object.fromEntries(used) } };
}

/** An input is called `…Input` only where its output differs. */
function withShortNames(document: Document): Document {
  const { components, ...others } = document;
  const schemas = components?.schemas ?? {};
  const shortOf = (name: string): string => {
    const short = NAMES.has(name) ? name : name.replace(/Input$/, '');
    return short in schemas && JSON.stringify(schemas[short]) !== JSON.stringify(schemas[name])
      ? name
      : short;
  };
  const renamed = Object.entries(schemas).map(([name, schema]) => [shortOf(name), schema]);
  const text = JSON.stringify({
    ...others,
    components: { ...components, schemas: Object.fromEntries(renamed) },
  });
  return JSON.parse(
    text.replaceAll(REFERENCES, (_, name: string) => `"${REFERENCE}${shortOf(name)}"`),
  ) as Document;
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

/** Whether an `anyOf` only says which members are required. */
function isRule(options: unknown): boolean {
  return (
    Array.isArray(options) &&
    options.every((option: Schema) => Object.keys(option).every((key) => key === 'required'))
  );
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
