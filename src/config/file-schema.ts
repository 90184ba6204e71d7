// The sections of adjutant.json, and the JSON Schema of the whole file for editors and for docs/configuration.md.
// Must never accept a key that no section knows.
import * as z from 'zod';
import { aliasName, chainSchema, modelSections } from './models.ts';
import { byName } from './names.ts';
import { type Note, notes } from './notes.ts';
import { writtenProviderSchema } from './providers.ts';
import { runSections } from './runs.ts';
import { httpServerSchema, stdioServerSchema } from './servers.ts';
import { serviceSections } from './service.ts';
import { serverNameSchema } from '../contract/identifiers.ts';

export const fileSchema = z.strictObject({
  $schema: z
    .string()
    .optional()
    .register(notes, { description: 'The JSON Schema of this file, for your editor.', fallback: 'none' }),
  /** Each is read on its own, so that a fault is told of the form that was meant. */
  mcpServers: byName(serverNameSchema, z.unknown()).prefault({}),
  ...modelSections,
  ...runSections,
  ...serviceSections,
});

/** The same with what its servers, providers and aliases may be. */
const wholeFileSchema = fileSchema.extend({
  mcpServers: byName(serverNameSchema, z.union([stdioServerSchema, httpServerSchema]))
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

export type JsonSchema = { readonly [key: string]: unknown };

/** The schema of the file, with the words of `notes` as members beside the keywords of JSON Schema. */
export function annotatedFileSchema(): JsonSchema {
  return jsonSchemaOf(wholeFileSchema);
}

/** Name and text of the published file, which has keywords of JSON Schema alone. */
export function configurationSchemaFile(): [name: string, text: string] {
  const { $schema, ...body } = plain(annotatedFileSchema()) as JsonSchema;
  const published = { $schema, $id: 'urn:adjutant:configuration', title: 'adjutant.json', ...body };
  return ['configuration.json', `${JSON.stringify(published, null, 2)}\n`];
}

function jsonSchemaOf(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, {
    io: 'input',
    metadata: notes,
    unrepresentable: 'any',
    override: describeNames,
  }) as JsonSchema;
}

/** Sections by name are read through a step that JSON Schema cannot say: what follows it is what a file may hold. */
function describeNames({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: Record<string, unknown>;
}): void {
  const { def } = zodSchema._zod;
  if (def.type !== 'pipe') return;
  const { def: inner } = (def.out as z.core.$ZodTypes)._zod;
  if (inner.type !== 'map' && inner.type !== 'record') return;
  const { $schema: _key, ...propertyNames } = jsonSchemaOf(inner.keyType as z.ZodType);
  const { $schema: _value, ...additionalProperties } = jsonSchemaOf(inner.valueType as z.ZodType);
  Object.assign(jsonSchema, { type: 'object', propertyNames, additionalProperties });
}

const NOTE_MEMBERS: readonly (keyof Note)[] = ['special', 'unit', 'fallback'];

/** Special values and unit go into the description: other members would be unknown keywords. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const { description, special, unit, fallback } = value as Partial<Note>;
  const entries = Object.entries(value).filter(([key]) => !NOTE_MEMBERS.includes(key as keyof Note));
  const copy = Object.fromEntries(entries.map(([key, member]) => [key, plain(member)]));
  if (typeof description !== 'string') return copy;
  const more = [
    special === undefined ? '' : ` Special: ${special}.`,
    unit === undefined ? '' : ` Unit: ${unit}.`,
    fallback === undefined ? '' : ` Default: ${fallback}.`,
  ];
  return { ...copy, description: description + more.join('') };
}
