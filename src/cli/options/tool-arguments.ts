/** The tool and the arguments of a call as they are typed: one JSON object, or `key=value`.
 *  A value has the type that the tool's schema names; without a schema it is JSON, or else a text. */
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { parseExactJson } from '../../contract/json/exact-json.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import type { ToolListing } from '../../contract/tool/tool-listing.ts';
import { closeNames } from '../../platform/bounds/close-names.ts';
import { ADJUTANT } from '../command-name.ts';
import { CliFailure, usage } from '../failure.ts';
import { oneLine } from '../terminal.ts';
import { objectArgument } from './option-values.ts';

type Schema = Readonly<Record<string, unknown>>;

const PAIR = /^(?<key>[^\s={}[\]"'][^={}[\]"']*)=(?<value>.*)$/s;
const EXAMPLE = `Write one JSON object, as in '{"a": 1}', or arguments such as a=1 name=Ada.`;

/** `schema`: that of the tool; {}: unknown. Throws a usage error. */
export function toolArguments(words: readonly string[], schema: Schema): Record<string, unknown> {
  const [first = '{}', ...others] = words;
  if (others.length === 0 && !PAIR.test(first)) return objectArgument(first);
  const pairs = words.map(pairOf);
  const keys = [...new Set(pairs.map(({ key }) => key))];
  return Object.fromEntries(
    keys.map((key) => {
      const values = pairs.filter((pair) => pair.key === key).map(({ value }) => value);
      return [key, valueOf(key, values, propertyOf(schema, key))];
    }),
  );
}

function pairOf(word: string): { key: string; value: string } {
  const { key, value } = PAIR.exec(word)?.groups ?? {};
  if (key !== undefined && value !== undefined) return { key, value };
  throw usage(`"${oneLine(word, 80)}" is no argument of the form key=value.`, EXAMPLE);
}

/**
 * The schema of `tool` (`server.tool`, or its name at the only server that has it); {}: the list does not show it.
 * Throws where its server is ready and lists no such tool: a call would fail, and become a dead letter.
 */
export async function schemaOfTool(tool: string, client: Pick<DirectiveClient, 'tools'>): Promise<Schema> {
  const listing = await client.tools().catch(unlessRefused);
  const named = listing.tools.filter(({ name, tool: bare }) => name === tool || bare === tool);
  const found = named.find(({ name }) => name === tool) ?? named[0];
  if (found !== undefined) return found.input_schema;
  const server = listing.servers.find(({ name }) => tool.startsWith(`${name}.`));
  if (server?.status === 'ready' && server.served !== false) throw unknownTool(tool, server.name, listing);
  return {};
}

/** A key may call tools and not list them. */
function unlessRefused(error: unknown): ToolListing {
  if (error instanceof DirectiveRefused) return { tools: [], servers: [] };
  throw error;
}

function unknownTool(tool: string, server: string, { tools }: ToolListing): CliFailure {
  const names = tools.filter((each) => each.server === server).map(({ name }) => name);
  const close = closeNames(tool, names);
  const question = close.length === 0 ? '' : `Did you mean ${close.join(' or ')}? `;
  return new CliFailure({
    type: 'unknown_tool',
    what: `unknown_tool: the server "${server}" has no tool "${oneLine(tool.slice(server.length + 1), 80)}".`,
    how: `${question}\`${ADJUTANT} tools ${server}\` lists its tools.`,
  });
}

function propertyOf({ properties }: Schema, key: string): Schema {
  const property = isObject(properties) ? ownMember(properties, key) : undefined;
  return isObject(property) ? property : {};
}

function valueOf(key: string, values: readonly string[], property: Schema): unknown {
  const types = typesOf(property);
  const [first = ''] = values;
  if (types.includes('array') && (values.length > 1 || !first.startsWith('['))) {
    const items = isObject(property['items']) ? property['items'] : {};
    return values.map((value) => typed(key, value, typesOf(items)));
  }
  if (values.length === 1) return typed(key, first, types);
  throw usage(`The argument "${oneLine(key, 80)}" is given ${values.length} times.`, EXAMPLE);
}

/** Empty: any. */
function typesOf({ type }: Schema): readonly string[] {
  if (typeof type === 'string') return [type];
  return Array.isArray(type) ? type.filter((each) => typeof each === 'string') : [];
}

function typed(key: string, text: string, types: readonly string[]): unknown {
  if (types.length === 1 && types[0] === 'string') return text;
  const value = jsonIn(text);
  if (value !== undefined && (types.length === 0 || types.some((type) => isOf(type, value)))) return value;
  if (types.length === 0 || types.includes('string')) return text;
  throw usage(
    `The argument "${oneLine(key, 80)}" must be of type ${types.join(' or ')}, not "${oneLine(text, 80)}".`,
    EXAMPLE,
  );
}

/** undefined: not JSON, or a number that a program would change. */
function jsonIn(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isObject(value);
    default:
      return typeof value === type;
  }
}
