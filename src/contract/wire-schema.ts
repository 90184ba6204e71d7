// Every wire type as JSON Schema, by name: what is published for programs in other languages.
// Must never differ from what the zod schemas accept, and never depend on the order of a run.
import * as z from 'zod';
import { agentDefinitionSchema } from './agent-definition.ts';
import { agentDirectiveSchema } from './agent-directive.ts';
import { agentListingSchema } from './agent-listing.ts';
import { cancelBodySchema, cancellationSchema } from './cancellation.ts';
import { CONTROL_PARAMS } from './control-params.ts';
import { customDirectiveSchema } from './custom-directive.ts';
import { deadLetterPageSchema, redriveBodySchema, redriveSchema } from './dead-letter.ts';
import { directiveSchema, submissionBodySchema, submittedDirectiveSchema } from './directive.ts';
import { embeddingsSchema } from './embedding.ts';
import { errorEnvelopeSchema } from './error-envelope.ts';
import { laneListingSchema } from './lane-listing.ts';
import { messageSchema } from './message.ts';
import { modelTurnSchema } from './model-turn.ts';
import { problemSchema } from './problem.ts';
import { directiveViewSchema, requestViewSchema } from './request-view.ts';
import { resultSchema } from './result.ts';
import {
  acceptedInputSchema,
  approvalDecisionBodySchema,
  recordedDecisionSchema,
  runInputBodySchema,
  runViewSchema,
  startedRunSchema,
  startRunBodySchema,
} from './run.ts';
import { signalPageSchema } from './signal-page.ts';
import { signalSchema } from './signal.ts';
import { customSignalSchema } from './signal-envelope.ts';
import { submissionSchema } from './submission.ts';
import { toolListingSchema } from './tool-listing.ts';
import { usageSchema } from './usage.ts';

/** What the service reads. Members with a default may be absent. */
const READ: Record<string, z.ZodType> = {
  'agent-definition': agentDefinitionSchema,
  'approval-decision-body': approvalDecisionBodySchema,
  'cancel-body': cancelBodySchema,
  message: messageSchema,
  'run-input-body': runInputBodySchema,
  'start-run-body': startRunBodySchema,
  'redrive-body': redriveBodySchema,
  'submission-body': submissionBodySchema,
  ...byType('directive', directiveSchema.options),
  'directive.custom': customDirectiveSchema,
  ...byType('submitted-directive', submittedDirectiveSchema.options),
  ...byType('agent-directive', agentDirectiveSchema.options),
  ...controlDirectives(),
};

/** What the service writes. Readers skip members they do not know. */
const WRITTEN: Record<string, z.ZodType> = {
  'accepted-input': acceptedInputSchema,
  'agent-listing': agentListingSchema,
  cancellation: cancellationSchema,
  'recorded-decision': recordedDecisionSchema,
  'run-view': runViewSchema,
  'started-run': startedRunSchema,
  'dead-letter-page': deadLetterPageSchema,
  redrive: redriveSchema,
  'directive-view': directiveViewSchema,
  embeddings: embeddingsSchema,
  'error-envelope': errorEnvelopeSchema,
  'lane-listing': laneListingSchema,
  'model-turn': modelTurnSchema,
  problem: problemSchema,
  'request-view': requestViewSchema,
  result: resultSchema,
  'signal-page': signalPageSchema,
  submission: submissionSchema,
  'tool-listing': toolListingSchema,
  usage: usageSchema,
  ...byType('signal', signalSchema.options),
  'signal.custom': customSignalSchema,
};

const DIALECT = 'https://json-schema.org/draft/2020-12/schema';

export type JsonSchema = Record<string, unknown>;

/** Families of types told apart by their `type`; each has a schema that refers to its members. */
const FAMILIES = ['directive', 'submitted-directive', 'agent-directive', 'control-directive', 'signal'];

/** The JSON Schema of each wire type, in the order of their names. */
export function wireJsonSchemas(): ReadonlyMap<string, JsonSchema> {
  const schemas = [
    ...Object.entries(READ).map(([name, schema]) => [name, published(name, schema, 'input')] as const),
    ...Object.entries(WRITTEN).map(([name, schema]) => [name, published(name, schema, 'output')] as const),
    ...FAMILIES.map((family) => [family, familySchema(family)] as const),
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

function familySchema(family: string): JsonSchema {
  const members = [...Object.keys(READ), ...Object.keys(WRITTEN)].filter((name) =>
    name.startsWith(`${family}.`),
  );
  const oneOf = members.toSorted().map((name) => ({ $ref: schemaId(name) }));
  return { $schema: DIALECT, $id: schemaId(family), oneOf };
}

function schemaId(name: string): string {
  return `urn:adjutant:contract:${name}`;
}

function published(name: string, schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _dialect, ...body } = z.toJSONSchema(schema, { io, override: openUnlessStrict });
  return { $schema: DIALECT, $id: schemaId(name), ...body };
}

/** Zod closes every object it writes; here only those are closed that refuse what they do not know. */
function openUnlessStrict({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes;
  jsonSchema: JsonSchema;
}) {
  const { def } = zodSchema._zod;
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema['additionalProperties'];
}

type TypedSchema = z.ZodObject<{ type: z.ZodLiteral<string> }>;

function byType(family: string, schemas: readonly z.ZodType[]): Record<string, z.ZodType> {
  return Object.fromEntries(
    schemas.map((schema) => [`${family}.${(schema as TypedSchema).shape.type.value}`, schema]),
  );
}

function controlDirectives(): Record<string, z.ZodType> {
  return Object.fromEntries(
    Object.entries(CONTROL_PARAMS).map(([type, params]) => [
      `control-directive.${type}`,
      z.object({ type: z.literal(type), params }),
    ]),
  );
}
