/** Reads the description of one tool in a listing: what is wrong with it costs that tool, or one member, not the whole list.
 *  It must never lose a tool silently: what is left out is reported in the description that takes its place. */
import { specTypeSchemas, type Tool } from '@modelcontextprotocol/client';
import { shortened } from '../../platform/json-schema/shortened-text.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { isEmptyList, issuesOf } from '../transport/read-message.ts';

type Members = Record<string, unknown>;

/** Fault of a tool. It travels with the tool through the SDK, which reads whole lists. */
export interface DescriptorFault {
  readonly message: string;
  readonly isLeftOut: boolean;
}

const FAULT = 'adjutant/fault';
const OUTPUT_SCHEMA = 'adjutant/outputSchema';

export function readDescriptor(given: unknown, index: number): unknown {
  const place = `#${index + 1}`;
  if (!isObject(given)) return leftOut(place, 'is not an object');
  const { name } = given;
  if (typeof name !== 'string' || name === '') return leftOut(place, 'has no name');
  const input = readInputSchema(given['inputSchema']);
  if (typeof input === 'string') return leftOut(name, input);
  const { kept, wrong } = readOptional(given);
  const tool = { ...kept, name, inputSchema: input };
  const [unfit] = toolIssues(tool);
  if (unfit !== undefined) return leftOut(name, `has a description that is not valid: ${unfit}`);
  if (wrong.length === 0) return tool;
  return marked(tool, { message: `has unusable ${wrong.join(', ')}`, isLeftOut: false });
}

/** null: nothing is wrong with the tool. */
export function descriptorFault({ _meta: meta }: Tool): DescriptorFault | null {
  const fault = meta?.[FAULT];
  if (!isObject(fault)) return null;
  return { message: String(fault['message']), isLeftOut: fault['isLeftOut'] === true };
}

/** The output schema as it was sent. */
export function outputSchemaOf({ outputSchema, _meta: meta }: Tool): Members | undefined {
  const apart = meta?.[OUTPUT_SCHEMA];
  return isObject(apart) ? apart : outputSchema;
}

/** The server chooses these texts. */
const MAX_NAME_CHARACTERS = 200;
const MAX_MESSAGE_CHARACTERS = 400;

/** A description in place of a tool that cannot be called, for a list of this client. */
export function leftOut(name: string, message: string): Members {
  return marked(
    { name: shortened(name, MAX_NAME_CHARACTERS), inputSchema: { type: 'object' } },
    { message, isLeftOut: true },
  );
}

function marked(tool: Members, fault: DescriptorFault): Members {
  const meta = isObject(tool['_meta']) ? tool['_meta'] : {};
  const message = shortened(fault.message, MAX_MESSAGE_CHARACTERS);
  return { ...tool, _meta: { ...meta, [FAULT]: { ...fault, message } } };
}

/** The schema, or what is wrong with it. Arguments are an object, also where the schema does not say so. */
function readInputSchema(schema: unknown): Members | string {
  if (schema === undefined || schema === null) return 'has no input schema';
  if (schema === true || isEmptyList(schema)) return { type: 'object' };
  if (!isObject(schema)) return 'has an input schema that is not an object';
  const { $schema, properties, required, ...rest } = schema;
  const types = [rest['type'] ?? 'object'].flat();
  if (!types.includes('object')) return 'has an input schema whose type is not "object"';
  const isListed = (properties ?? undefined) === undefined || isObject(properties) || isEmptyList(properties);
  if (!isListed) return 'has an input schema whose properties are not an object';
  const isRequired = (required ?? undefined) === undefined || isListOfTexts(required);
  if (!isRequired) return 'has an input schema whose required members are not a list of names';
  return {
    ...(typeof $schema === 'string' ? { $schema } : {}),
    ...rest,
    type: 'object',
    ...(isObject(properties) ? { properties } : {}),
    ...(isListOfTexts(required) ? { required } : {}),
  };
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** The members that a tool can do without; null means absent. */
function readOptional(given: Members): { kept: Members; wrong: string[] } {
  const { annotations, outputSchema, _meta: meta, ...others } = given;
  const kept: Members = {};
  const wrong: string[] = [];
  const read = (key: string, value: unknown, isRight: (value: unknown) => boolean): void => {
    if (value === undefined || value === null || (OBJECTS.has(key) && isEmptyList(value))) return;
    if (isRight(value)) kept[key] = value;
    else wrong.push(key);
  };
  for (const key of ['title', 'description']) read(key, others[key], (value) => typeof value === 'string');
  read('annotations', rightHints(annotations, wrong), isObject);
  for (const key of ['icons', 'execution']) read(key, others[key], (value) => isRightMember(key, value));
  read('_meta', withoutOurs(meta), isObject);
  read('outputSchema', outputSchema, isObject);
  if (isObject(kept['outputSchema'])) setApart(kept, kept['outputSchema']);
  return { kept, wrong };
}

const OBJECTS: ReadonlySet<string> = new Set(['annotations', 'execution', '_meta', 'outputSchema']);

/** Only this client sets its own members: a server that sends them would hide a tool, or replace its schema. */
function withoutOurs(meta: unknown): unknown {
  if (!isObject(meta)) return meta;
  const { [FAULT]: _fault, [OUTPUT_SCHEMA]: _schema, ...others } = meta;
  return others;
}

/** Each hint counts by itself: a tool whose hints are wrong is only called with more care. */
function rightHints(annotations: unknown, wrong: string[]): unknown {
  if (!isObject(annotations)) return annotations;
  const hints = Object.entries(annotations).filter(([, hint]) => hint !== null);
  const isRight = ([key, hint]: [string, unknown]): boolean =>
    typeof hint === (key === 'title' ? 'string' : 'boolean') || !/^title$|Hint$/.test(key);
  wrong.push(...hints.filter((hint) => !isRight(hint)).map(([key]) => `annotations.${key}`));
  return Object.fromEntries(hints.filter(isRight));
}

/**
 * This client checks results against the schema itself. The SDK would allow objects only, and refuse what a tool asks, since that
 * has no structured content.
 */
function setApart(tool: Members, schema: Members): void {
  const meta = isObject(tool['_meta']) ? tool['_meta'] : {};
  tool['_meta'] = { ...meta, [OUTPUT_SCHEMA]: schema };
  delete tool['outputSchema'];
}

const ANY_TOOL = { name: 'any', inputSchema: { type: 'object' } };

function isRightMember(key: string, value: unknown): boolean {
  return toolIssues({ ...ANY_TOOL, [key]: value }).length === 0;
}

function toolIssues(tool: Members): string[] {
  return issuesOf(specTypeSchemas.Tool, tool).map(({ path, message }) => `${path}: ${message}`);
}
