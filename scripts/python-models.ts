// The wire types that the Python client has models of, as one JSON Schema, and its digest, which the models name.
// Must never depend on the order of a run.
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { type JsonSchema, READ_TYPES, wireJsonSchemas } from '../src/contract/wire-schema.ts';

/** The generated file. */
export const MODELS_FILE = join(
  resolve(import.meta.dirname, '..'),
  'clients/python/src/adjutant_client/models.py',
);

/** Types that methods of the client take or return; those that they refer to come with them. */
const ROOTS = [
  'accepted-input',
  'approval-decision-body',
  'begun-step',
  'cancellation',
  'directive-view',
  'ended-work',
  'error-envelope',
  'foreign-run-view',
  'held-work',
  'input-answer-body',
  'problem',
  'recorded-answer',
  'recorded-decision',
  'request-listing',
  'request-view',
  'run-input-body',
  'signal',
  'signal-page',
  'start-run-body',
  'started-run',
  'submission',
  'submitted-directive',
  'taken-work',
  'webhook-event',
];

/** Bounds, and what only validators read. */
const LEFT_OUT = new Set([
  '$schema',
  '$id',
  'pattern',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minItems',
  'maxItems',
  'propertyNames',
  'not',
  'default',
]);

const REFERENCE = /"\$ref":"urn:adjutant:contract:([^"]+)"/g;

/** JSON Schema of all models. */
export function modelsSchema(): JsonSchema {
  const all = openTypes(wireJsonSchemas());
  const titleOf = (name: string): string => String(all.get(name)?.['title']);
  const used = new Set(ROOTS);
  for (const name of used)
    for (const [, other = ''] of JSON.stringify(all.get(name)).matchAll(REFERENCE)) used.add(other);
  const definitions = [...used].toSorted().map((name) => {
    const schema = simpler(all.get(name), titleOf(name), !(name in READ_TYPES));
    return [titleOf(name), schema] as const;
  });
  const text = JSON.stringify({ $defs: Object.fromEntries(definitions) });
  return JSON.parse(
    text.replaceAll(REFERENCE, (_, name: string) => `"$ref":"#/$defs/${titleOf(name)}"`),
  ) as JsonSchema;
}

/** Digest of that schema. */
export function modelsDigest(): string {
  return createHash('sha256').update(JSON.stringify(modelsSchema())).digest('hex');
}

/**
 * The types with what a reader needs of them: a signal or an event of a later version has a form of its own, every signal is one type, and
 * the stored directive is an open object, whose types would be half of all models.
 */
function openTypes(all: ReadonlyMap<string, JsonSchema>): ReadonlyMap<string, JsonSchema> {
  const known = ((all.get('signal')?.['anyOf'] ?? []) as JsonSchema[])[0] ?? {};
  const text = JSON.stringify([...all].filter(([name]) => name !== 'signal'));
  const asReference = text.replaceAll(
    new RegExp(
      `"oneOf":${escaped(JSON.stringify(known['oneOf']))}(,"type":"object","discriminator":{"propertyName":"type"})?`,
      'g',
    ),
    '"$ref":"urn:adjutant:contract:signal"',
  );
  const types = new Map(JSON.parse(asReference) as [string, JsonSchema][]);
  const reference = (name: string) => ({ $ref: `urn:adjutant:contract:${name}` });
  types.set('known-signal', { title: 'KnownSignal', ...known });
  types.set('signal', { title: 'Signal', anyOf: [reference('known-signal'), reference('signal.custom')] });
  const { oneOf = [], ...event } = types.get('webhook-event') ?? {};
  types.set('webhook-event', { title: event['title'], anyOf: [...(oneOf as JsonSchema[]), OTHER_EVENT] });
  const { properties, ...view } = types.get('directive-view') ?? {};
  const { directive, ...others } = properties as Record<string, JsonSchema>;
  const open = { type: 'object', additionalProperties: {}, description: directive?.['description'] };
  types.set('directive-view', { ...view, properties: { ...others, directive: open } });
  return types;
}

function escaped(text: string): string {
  return text.replaceAll(/[$.[\]{}()|?*+^\\]/g, String.raw`\$&`);
}

const OTHER_EVENT: JsonSchema = {
  title: 'Other',
  type: 'object',
  properties: {
    type: { type: 'string', description: 'Type of the event, of a later version.' },
    timestamp: { type: 'string', description: 'Instant (UTC) of the event.' },
    data: { type: 'object', additionalProperties: {}, description: 'Data of the event.' },
  },
  required: ['type', 'timestamp', 'data'],
};

/** The schema without bounds. Objects inside it are named after the type and the member. */
function simpler(schema: unknown, title: string, isWritten: boolean): JsonSchema {
  if (typeof schema !== 'object' || schema === null) return {};
  const { properties, items, additionalProperties: other, ...others } = schema as JsonSchema;
  const { anyOf, oneOf, enum: values, ...rest } = others;
  const inner = (part: unknown, name: string): JsonSchema => simpler(part, title + name, isWritten);
  const kept = Object.fromEntries(Object.entries(rest).filter(([name]) => !LEFT_OUT.has(name)));
  if (Array.isArray(values) && values.length > 1 && isWritten)
    return { ...kept, anyOf: [{ enum: values }, { type: 'string' }] };
  const options = (oneOf ?? anyOf) as unknown[] | undefined;
  const members = Object.entries((properties ?? {}) as JsonSchema);
  return {
    ...kept,
    ...(values === undefined ? {} : { enum: values }),
    ...(properties === undefined
      ? {}
      : {
          title,
          properties: Object.fromEntries(members.map(([name, part]) => [name, inner(part, pascal(name))])),
        }),
    ...(items === undefined ? {} : { items: inner(items, 'Item') }),
    ...(typeof other === 'object' ? { additionalProperties: inner(other, 'Value') } : {}),
    ...(other === false ? { additionalProperties: false } : {}),
    // Rules between members have no types.
    ...(options === undefined || properties !== undefined
      ? {}
      : {
          [oneOf === undefined ? 'anyOf' : 'oneOf']: options.map((each, at) =>
            inner(each, tagOf(each) ?? (at === 0 ? '' : `${at + 1}`)),
          ),
        }),
  };
}

interface Option {
  readonly title?: string;
  readonly properties?: Readonly<Record<string, { const?: unknown; enum?: unknown[] }>>;
}

/** Name of a form of a union, from the constant that tells it apart; undefined: it has none. */
function tagOf(option: unknown): string | undefined {
  const { title, properties = {} } = option as Option;
  if (title !== undefined) return title;
  for (const { const: constant, enum: values } of Object.values(properties)) {
    const tag = constant ?? (values?.length === 1 ? values[0] : undefined);
    if (typeof tag === 'boolean') return tag ? 'Succeeded' : 'Failed';
    if (typeof tag === 'string') return pascal(tag);
  }
  return undefined;
}

function pascal(name: string): string {
  return name
    .split(/\W|_/)
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join('');
}
