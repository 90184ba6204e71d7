/** adjutant.json as JSON Schema: with its notes for the page, and as published for editors.
 *  It must not decide what a file may hold: the schemas of src/config do. */
import * as z from 'zod';
import { fileSchema } from '../src/config/file-schema.ts';
import { aliasName, chainSchema } from '../src/config/models.ts';
import { byName } from '../src/config/names.ts';
import { type Note, notes } from '../src/config/notes.ts';
import { writtenProviderSchema } from '../src/config/providers.ts';
import { serverSchema, stdioServerSchema } from '../src/config/servers.ts';
import { BUILT_IN_PROVIDERS } from '../src/contract/model/model-name.ts';
import { serverNameSchema } from '../src/contract/identifiers.ts';

export type JsonSchema = { readonly [key: string]: unknown };

/** The file, with the schemas of its servers, providers and aliases. */
const wholeFileSchema = fileSchema.extend({
  mcpServers: byName(serverNameSchema, serverSchema)
    .prefault({})
    .register(notes, { description: 'MCP servers by name.' }),
  providers: byName(serverNameSchema, writtenProviderSchema).prefault({}).register(notes, {
    description: 'Model providers by name. Those with a key in the environment need no entry.',
  }),
  models: byName(aliasName, chainSchema).prefault({}).register(notes, {
    description: 'Aliases: a model, or several of which the next is asked when one cannot serve.',
    special: '`provider:model`, or a list of them',
  }),
});

/** With the `notes` as members beside the keywords of JSON Schema. */
export function annotatedFileSchema(): JsonSchema {
  return annotatedSchema(wholeFileSchema);
}

export function annotatedSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    metadata: notes,
    unrepresentable: 'any',
    override: (each) => {
      describeNames(each);
      describePair(each);
    },
  }) as JsonSchema;
}

interface Overridden {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: Record<string, unknown>;
}

/**
 * Sections by name are read through a step that JSON Schema cannot express: the schema behind it describes the file.
 */
function describeNames({ zodSchema, jsonSchema }: Overridden): void {
  const { def } = zodSchema._zod;
  if (def.type !== 'pipe') return;
  const { def: inner } = (def.out as z.core.$ZodTypes)._zod;
  if (inner.type !== 'map' && inner.type !== 'record') return;
  const { $schema: _key, ...propertyNames } = annotatedSchema(inner.keyType as z.ZodType);
  const { $schema: _value, ...additionalProperties } = annotatedSchema(inner.valueType as z.ZodType);
  Object.assign(jsonSchema, { type: 'object', propertyNames, additionalProperties });
}

/** The check of `uid` and `gid` is code, which JSON Schema does not see. */
function describePair({ zodSchema, jsonSchema }: Overridden): void {
  if (zodSchema !== (stdioServerSchema as z.core.$ZodType)) return;
  Object.assign(jsonSchema, { dependentRequired: { uid: ['gid'], gid: ['uid'] } });
}

/** What a provider must have by its name: a type, unless the name is one; and `api` without a type only as `openai`. */
const BY_NAME = {
  patternProperties: {
    [`^(?!(?:${[...BUILT_IN_PROVIDERS.keys()].join('|')})$)`]: { type: 'object', required: ['type'] },
    '^(?!openai$)': { type: 'object', dependentRequired: { api: ['type'] } },
  },
};

function withProvidersByName(schema: JsonSchema): JsonSchema {
  const properties = schema['properties'] as Record<string, JsonSchema>;
  const providers = { ...properties['providers'], allOf: [BY_NAME] };
  return { ...schema, properties: { ...properties, providers } };
}

/** Name and text of the published file, which holds only keywords of JSON Schema. */
export function configurationSchemaFile(): [name: string, text: string] {
  const { $schema, ...body } = withDefinitions(
    withProvidersByName(plain(annotatedFileSchema()) as JsonSchema),
  );
  const published = { $schema, $id: 'urn:adjutant:configuration', title: 'adjutant.json', ...body };
  return ['configuration.json', `${JSON.stringify(published, null, 2)}\n`];
}

const NOTE_MEMBERS: ReadonlySet<string> = new Set<keyof Note>(['special', 'unit', 'fallback']);

/** Special values and unit go into the description: other members would be unknown keywords. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const { description, special, unit, fallback } = value as Partial<Note>;
  const entries = Object.entries(value).filter(([key, member]) => !isNote(key, member));
  const copy = Object.fromEntries(entries.map(([key, member]) => [key, plain(member)]));
  if (typeof description !== 'string') return copy;
  const more = [
    special === undefined ? '' : ` Special: ${special}.`,
    unit === undefined ? '' : ` Unit: ${unit}.`,
    fallback === undefined ? '' : ` Default: ${fallback}.`,
  ];
  return { ...copy, description: description + more.join('') };
}

/** A key of the file may have the name of a note; then its value is a schema, not text. */
function isNote(key: string, member: unknown): boolean {
  return NOTE_MEMBERS.has(key) && typeof member === 'string';
}

/** Smaller ones are easier to read in place. */
const SHORTEST_DEFINITION = 400;

/** What occurs in several places is written once, under `$defs`, by the name of its key. */
function withDefinitions(schema: JsonSchema): JsonSchema {
  const times = new Map<string, number>();
  eachProperty(schema, (_key, text) => times.set(text, (times.get(text) ?? 0) + 1));
  const names = new Map<string, string>();
  eachProperty(schema, (key, text) => {
    if (text.length < SHORTEST_DEFINITION || (times.get(text) ?? 0) < 2 || names.has(text)) return;
    const taken = [...names.values()].filter((name) => name.startsWith(key)).length;
    names.set(text, taken === 0 ? key : `${key}${taken + 1}`);
  });
  const definitions = [...names].map(([text, name]) => [name, referring(JSON.parse(text), names)] as const);
  return { ...(referring(schema, names) as JsonSchema), $defs: Object.fromEntries(definitions) };
}

function eachProperty(value: unknown, visit: (key: string, text: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  const { properties } = value as { properties?: Record<string, unknown> };
  for (const [key, member] of Object.entries(properties ?? {})) visit(key, JSON.stringify(member));
  for (const member of Object.values(value)) eachProperty(member, visit);
}

function referring(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => referring(item, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => {
      const name = names.get(JSON.stringify(member));
      return [key, name === undefined ? referring(member, names) : { $ref: `#/$defs/${name}` }];
    }),
  );
}
