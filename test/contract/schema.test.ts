// The published JSON Schemas: up to date, pinned to the contract's version, and equal to the code.
// Must never be made to pass by changing the digest without the version.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { CONTRACT_SHA256, CONTRACT_VERSION } from '../../src/contract/version.ts';
import { READ_TYPES, schemaFiles, wireComponents, WRITTEN_TYPES } from '../../src/contract/wire-schema.ts';
import { MODELS_FILE, modelsDigest } from '../../scripts/python-models.ts';
import { submittedDirectiveSchema } from '../../src/contract/directive/directive.ts';
import { proseFault } from '../support/prose.ts';
import { DOCUMENTS, oneStepFrom, UNKNOWN_MEMBER } from './wire-documents.ts';

const directory = join(import.meta.dirname, '../../schemas');
const committed = new Map(
  readdirSync(directory)
    // The configuration is not part of the wire: test/unit/config/reference.test.ts compares it with the code.
    .filter((name) => name !== 'configuration.json')
    .toSorted()
    .map((name) => [name, readFileSync(join(directory, name), 'utf8')] as const),
);

test('the committed schemas are generated from the code', () => {
  expect([...committed.keys()].toSorted()).toEqual([...schemaFiles().keys()].toSorted());
  for (const [name, text] of schemaFiles()) expect(committed.get(name), name).toBe(text);
});

/** The models name the schemas that they were generated from; without Python, nothing more can be compared. */
test('the models of the Python client are generated from the present schemas', () => {
  expect(readFileSync(MODELS_FILE, 'utf8'), 'Run: node scripts/generate-python-models.ts').toContain(
    modelsDigest(),
  );
});

test('the schemas match the contract’s version', () => {
  expect({ version: CONTRACT_VERSION, sha256: digestOf(committed) }).toEqual({
    version: '1.3.0',
    sha256: CONTRACT_SHA256,
  });
});

test('the schemas refer to published ones only, by their ids', () => {
  const ids = [...committed.keys()].map(idOf);
  const references = [...committed.values()].flatMap((text) => [...text.matchAll(/"\$ref": "([^"]+)"/g)]);
  const used = new Set(references.map(([, reference]) => reference));
  expect([...used].filter((reference) => !ids.includes(reference ?? ''))).toEqual([]);
  expect([...used]).toContain('urn:adjutant:contract:message');
});

/** OpenAPI, editors and generated clients show nothing but these texts. */
test('every field of every schema has a description in the English of the field', () => {
  const faults = [...committed].flatMap(([name, text]) =>
    propertiesOf(JSON.parse(text)).flatMap(([path, { description }]) => {
      if (typeof description !== 'string' || description.length < 5)
        return [`${name}${path}: no description`];
      const fault = proseFault(description);
      return fault === null ? [] : [`${name}${path}: "${fault}"`];
    }),
  );
  expect(faults).toEqual([]);
  expect(
    propertiesOf(JSON.parse(committed.get('submitted-directive.tool_exec.json') ?? '')).length,
  ).toBeGreaterThan(30);
});

/** The standard generators of clients name their types by these. */
test('every schema has a name of its own, which generators take', () => {
  const titles = [...committed.values()].map((text) => (JSON.parse(text) as { title: string }).title);
  expect(titles.filter((title) => !/^[A-Z][A-Za-z]+$/.test(title))).toEqual([]);
  expect(titles.toSorted()).toEqual([...wireComponents().keys()].toSorted());
  expect(titles).toEqual(
    expect.arrayContaining(['ToolExec', 'LlmStream', 'SignalToolResult', 'SignalCustom']),
  );
});

test.each([
  'submitted-directive',
  'directive',
  'signal',
  'agent-directive',
  'control-directive',
  'webhook-event',
])('%s names the member that discriminates its forms', (name) => {
  expect(committed.get(`${name}.json`)).toContain('"propertyName": "type"');
});

/** openapi-python-client drops a union that holds a constant boolean. */
test('a boolean of one value is an enum', () => {
  const constants = [...committed].filter(([, text]) => /"const": (?:true|false)/.test(text));
  expect(constants.map(([name]) => name)).toEqual([]);
  expect(committed.get('model-turn.json')).toMatch(/"enum": \[\s*true\s*\]/);
});

describe('a reader of the schemas', () => {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, discriminator: true });
  (addFormats as unknown as (target: unknown) => void)(ajv);
  for (const text of committed.values()) ajv.addSchema(JSON.parse(text));

  test.each([...committed.keys()])('can compile %s', (name) => {
    expect(ajv.getSchema(idOf(name))).toBeTypeOf('function');
  });

  test.each([
    [true, { type: 'tool_exec', tool_name: 't' }],
    [true, { type: 'tool_exec', tool_name: 't', backoff: 'exponential', jitter: 1 }],
    [true, { type: 'tool_exec', tool_name: 't', priority: 1 }],
    [false, { type: 'tool_exec', tool_name: 't', priority: 10 }],
    [false, { type: 'tool_exec', tool_name: 't', urgency: 1 }],
    [false, { type: 'tool_exec' }],
    [false, { type: 'tool_exec', tool_name: 'a\nb' }],
    [false, { type: 'tool_exec', tool_name: 't', id: 'a b' }],
    [false, { type: 'tool_exec', tool_name: 't', timeout_ms: 0 }],
    [true, { type: 'llm_generate', model_alias: 'fast', context: { messages: [] } }],
    [false, { type: 'llm_generate', context: [] }],
    [true, { type: 'emit_request_error', reason: 'busy', message: '' }],
    [false, { type: 'emit', signal: { type: 'x' } }],
  ])('is told %s of what the code says of %j', (valid, directive) => {
    expect(submittedDirectiveSchema.safeParse(directive).success).toBe(valid);
    expect(ajv.validate('urn:adjutant:contract:submitted-directive', directive)).toBe(valid);
  });

  test.each(Object.keys(DOCUMENTS))('is told what the code says of %s', (name) => {
    const whole = DOCUMENTS[name];
    const others = oneStepFrom(whole).filter((document) => !isBeyondSchemas(name, document));
    const verdicts = [whole, ...others].map((document) => ({
      document,
      code: isValid(name, document),
      schema: ajv.validate(idOf(name), document),
    }));
    expect(verdicts.filter(({ code, schema }) => code !== schema)).toEqual([]);
    expect(verdicts[0]).toMatchObject({ code: true });
    expect(verdicts.some(({ code }) => !code)).toBe(true);
  });

  test('accepts unknown members of signals', () => {
    const result = { ok: true, payload: 1, effects: [], later: 1 };
    expect(ajv.validate('urn:adjutant:contract:result', result)).toBe(true);
  });
});

/** Of what the service reads: it is taken. Of what it writes: it is taken, and nothing is missing that has a default. */
function isValid(name: string, document: unknown): boolean {
  const parsed = (READ_TYPES[name] ?? WRITTEN_TYPES[name])?.safeParse(document);
  if (!parsed?.success) return false;
  return name in READ_TYPES || isDeepStrictEqual(known(parsed.data), known(document));
}

/** Without the member that no type knows: readers skip it, and it says nothing of defaults. */
function known(document: unknown): unknown {
  const text = JSON.stringify(document, (key, value: unknown) =>
    key === UNKNOWN_MEMBER ? undefined : value,
  );
  return JSON.parse(text);
}

/** No schema says that a run has either a query or messages. */
function isBeyondSchemas(name: string, document: unknown): boolean {
  return name === 'start-run-body' && !Object.hasOwn(document as object, 'messages');
}

type Property = { description?: unknown };

/** Each property at any depth with its path. Values that only look like schemas are left out. */
function propertiesOf(node: unknown, path = ''): [string, Property][] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, member]) => {
    if (['enum', 'const', 'default', 'required'].includes(key)) return [];
    const inner = propertiesOf(member, `${path}/${key}`);
    if (key !== 'properties') return inner;
    const own = Object.entries(member as Record<string, Property>);
    return [...own.map(([name, schema]): [string, Property] => [`${path}/${name}`, schema]), ...inner];
  });
}

function idOf(name: string): string {
  return `urn:adjutant:contract:${name.replace(/\.json$/, '')}`;
}

function digestOf(files: ReadonlyMap<string, string>): string {
  const hash = createHash('sha256');
  for (const [name, text] of files) hash.update(`${name}\n${text}`);
  return hash.digest('hex');
}
