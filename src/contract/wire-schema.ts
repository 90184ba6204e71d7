// Every wire type as JSON Schema, published by name for other languages; types refer to each other by their ids.
// Must never differ from what the zod schemas accept, and never depend on the order of a run.
import * as z from 'zod';
import { agentDefinitionSchema } from './run/agent-definition.ts';
import { agentDirectiveSchema } from './run/agent-directive.ts';
import { CONTROL_PARAMS } from './run/control-params.ts';
import { customDirectiveSchema } from './directive/custom-directive.ts';
import { anyDirectiveSchema, directiveSchema, submittedDirectiveSchema } from './directive/directive.ts';
import { embeddingsSchema } from './model/embedding.ts';
import { errorEnvelopeSchema } from './error-envelope.ts';
import { messageSchema } from './model/message.ts';
import { modelTurnSchema } from './model/model-turn.ts';
import { rawTurnSchema } from './model/raw-answer.ts';
import { publishedTypes } from './operations/operations.ts';
import { problemSchema } from './problem.ts';
import { resultSchema } from './result.ts';
import { runViewSchema } from './run/run.ts';
import { anySignalSchema, signalSchema } from './signal/signal.ts';
import { customSignalSchema } from './signal/signal-envelope.ts';
import { usageSchema } from './model/usage.ts';
import { webhookEventSchema } from './signal/webhook-event.ts';

/** Wire types that the service reads. Members with a default may be absent. */
export const READ_TYPES: Readonly<Record<string, z.ZodType>> = {
  ...publishedTypes('body'),
  'agent-definition': agentDefinitionSchema,
  message: messageSchema,
  directive: anyDirectiveSchema,
  ...byType('directive', directiveSchema.options),
  'directive.custom': customDirectiveSchema,
  'submitted-directive': submittedDirectiveSchema,
  ...byType('submitted-directive', submittedDirectiveSchema.options),
  'agent-directive': agentDirectiveSchema,
  ...byType('agent-directive', agentDirectiveSchema.options),
  ...controlDirectives(),
};

/** Wire types that the service writes. Readers skip unknown members. */
export const WRITTEN_TYPES: Readonly<Record<string, z.ZodType>> = {
  ...publishedTypes('answer'),
  'run-view': runViewSchema,
  embeddings: embeddingsSchema,
  'error-envelope': errorEnvelopeSchema,
  'model-turn': modelTurnSchema,
  'raw-turn': rawTurnSchema,
  problem: problemSchema,
  result: resultSchema,
  usage: usageSchema,
  'webhook-event': webhookEventSchema,
  signal: anySignalSchema,
  ...byType('signal', signalSchema.options),
  'signal.custom': customSignalSchema,
};

type Direction = 'input' | 'output';

/** JSON Schema as an object. */
export type JsonSchema = Record<string, unknown>;

/** The JSON Schema of each wire type, in the order of their names. */
export function wireJsonSchemas(): ReadonlyMap<string, JsonSchema> {
  const schemas = [
    ...published(READ_TYPES, WRITTEN_TYPES, 'input'),
    ...published(WRITTEN_TYPES, READ_TYPES, 'output'),
  ];
  return new Map(schemas.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

/** The published files: the text of each by its name, in the order of the names. */
export function schemaFiles(): ReadonlyMap<string, string> {
  const files = [...wireJsonSchemas()].map(
    ([name, schema]) => [`${name}.json`, `${JSON.stringify(schema, null, 2)}\n`] as const,
  );
  return new Map(files);
}

/** `types` in one direction. They may refer to each other, and to those of the `others` that are equal in both. */
function published(
  types: Readonly<Record<string, z.ZodType>>,
  others: Readonly<Record<string, z.ZodType>>,
  io: Direction,
): [string, JsonSchema][] {
  const shared = Object.entries(others).filter(([, schema]) => looksTheSame(schema));
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of [...shared, ...Object.entries(types)]) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, { io, uri: schemaId, override: forGenerators });
  return Object.keys(types).map((name) => [name, inOrder(name, schemas[name] ?? {})]);
}

/** A type without a default and without a transformation is the same for those who write it and those who read it. */
function looksTheSame(schema: z.ZodType): boolean {
  const [input, output] = (['input', 'output'] as const).map((io) =>
    JSON.stringify(z.toJSONSchema(schema, { io, unrepresentable: 'any' })),
  );
  return input === output;
}

function inOrder(name: string, { $schema, $id, ...body }: JsonSchema): JsonSchema {
  return { $schema, $id, title: componentName(name), ...body };
}

function schemaId(name: string): string {
  return `urn:adjutant:contract:${name}`;
}

interface GeneratedSchema {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: JsonSchema;
}

function forGenerators(generated: GeneratedSchema): void {
  openUnlessStrict(generated);
  describeTags(generated);
}

/** Zod closes every object it writes; only those stay closed that refuse unknown members. */
export function openUnlessStrict({ zodSchema, jsonSchema }: GeneratedSchema): void {
  const { def } = zodSchema._zod;
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema['additionalProperties'];
}

/**
 * Adds the forms that generators of clients read to the JSON Schema that zod made of a schema: a union names the member
 * that discriminates it, and a boolean constant is an `enum` of one value. Every document of wire types uses it as
 * `override`.
 */
export function describeTags({ zodSchema, jsonSchema }: GeneratedSchema): void {
  const { def } = zodSchema._zod;
  if (def.type === 'literal' && typeof def.values[0] === 'boolean') {
    delete jsonSchema['const'];
    jsonSchema['enum'] = def.values;
  }
  if (def.type === 'union' && 'discriminator' in def && hasTextTags(def as TaggedUnion)) {
    jsonSchema['type'] = 'object';
    jsonSchema['discriminator'] = { propertyName: (def as TaggedUnion).discriminator };
  }
}

type TaggedUnion = z.core.$ZodDiscriminatedUnionDef;

/** The keyword is defined for text only: the two forms of a result differ in a boolean. */
function hasTextTags({ discriminator, options }: TaggedUnion): boolean {
  return options.every((option) =>
    [...(option._zod.propValues?.[discriminator] ?? [])].every((tag) => typeof tag === 'string'),
  );
}

/** The schema of each wire type by the name that generated clients and the OpenAPI document use: `ToolExec`, `SignalToolResult`, … */
export function wireComponents(): ReadonlyMap<string, z.ZodType> {
  const types = Object.entries({ ...READ_TYPES, ...WRITTEN_TYPES });
  return new Map(types.map(([name, schema]) => [componentName(name), schema]));
}

/** `submitted-directive.tool_exec` is `ToolExec`, `signal.ai.tool.result` `SignalToolResult`, `request-view` `RequestView`. */
function componentName(name: string): string {
  return name
    .replace(/^submitted-directive\./, '')
    .replace(/^signal\.ai\./, 'signal.')
    .split(/[-._]/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}

type TypedSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

function byType(family: string, schemas: readonly z.ZodType[]): Record<string, z.ZodType> {
  return Object.fromEntries(
    schemas.map((schema) => [`${family}.${(schema as TypedSchema).shape.type.value}`, schema]),
  );
}

function controlDirectives(): Record<string, z.ZodType> {
  const members = Object.entries(CONTROL_PARAMS).map(([type, params]) =>
    z.object({
      type: z.literal(type).describe('Type of the control directive.'),
      params: params.describe('Parameters of the control directive.'),
    }),
  );
  type Member = (typeof members)[number];
  return {
    'control-directive': z.discriminatedUnion('type', members as [Member, ...Member[]]),
    ...byType('control-directive', members),
  };
}
