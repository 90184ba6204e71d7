/** The tools that a client sees in place of a long list: they find, describe and call the others.
 *  Never shows a tool that its caller may not call, nor an unbounded text of a server. */
import type { CallToolResult, Tool } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { errorEnvelope } from '../../../contract/error-envelope.ts';
import { isObject } from '../../../contract/json/json-object.ts';
import { closeNames } from '../../../platform/bounds/close-names.ts';
import type { CallParams } from '../calls/call-subject.ts';
import { failure } from '../calls/tool-answer.ts';
import { descriptor, type Offer, type OfferedTools } from '../offered-tools.ts';
import type { ToolSource } from '../tool-source.ts';
import { createToolIndex } from './tool-index.ts';

interface ToolSearchOptions {
  readonly tools: ToolSource;
  /** Whether the caller of now may call it. */
  readonly mayCall: (offer: Offer) => boolean;
}

export interface ToolSearch {
  readonly descriptors: readonly Tool[];
  /** The answer of `find_tools` or `describe_tools`; null: another tool is called. */
  answer(params: CallParams): Promise<CallToolResult | null>;
  /** The call that `call_tool` names, or the answer where its arguments do not name one. */
  inner(params: CallParams): CallParams | CallToolResult;
  /** The answer to a call of an unknown tool, or of one that this caller may not call. */
  unknown(name: string): Promise<CallToolResult>;
  isHidden(name: string): Promise<boolean>;
}

const MOST_QUERY_CHARACTERS = 400;
const MOST_FOUND = 20;
const USUAL_FOUND = 5;
const MOST_DESCRIBED = 10;
const MOST_NAME_CHARACTERS = 256;
/** Bytes of one answer, and of one schema in a list of results. */
const MOST_ANSWER_BYTES = 12 * 1024;
const MOST_SHOWN_SCHEMA_BYTES = 2 * 1024;
const MOST_DESCRIBED_BYTES = 48 * 1024;
const MOST_DESCRIPTION_CHARACTERS = 400;
const MOST_SUGGESTED = 3;

const findSchema = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(MOST_QUERY_CHARACTERS)
    .describe('Words that say what the tool must do, such as "create a pull request".'),
  limit: z.int().min(1).max(MOST_FOUND).default(USUAL_FOUND).describe('Maximum number of results.'),
  server: z.string().min(1).max(MOST_NAME_CHARACTERS).optional().describe('Only tools of this server.'),
});

const describeSchema = z.strictObject({
  names: z
    .array(z.string().min(1).max(MOST_NAME_CHARACTERS))
    .min(1)
    .max(MOST_DESCRIBED)
    .describe('Names from find_tools.'),
});

const FIND = 'find_tools';
const DESCRIBE = 'describe_tools';
const CALL = 'call_tool';

export const SEARCH_INSTRUCTIONS = `The tools of all servers are behind three: ${FIND} searches them, ${DESCRIBE} shows their schemas, ${CALL} calls one. Search before you say that something cannot be done.`;

const DESCRIPTORS = [
  {
    name: FIND,
    description: `Searches the available tools by words and returns their names, descriptions and parameters. Call one with ${CALL}. "effect" says whether a call may be repeated: read, idempotent or once.`,
    inputSchema: jsonSchema(findSchema),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: DESCRIBE,
    description: 'Returns descriptions and input schemas of tools by their names.',
    inputSchema: jsonSchema(describeSchema),
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  {
    name: CALL,
    description: `Calls a tool that ${FIND} has found, and returns its result.`,
    inputSchema: {
      type: 'object',
      properties: {
        name: { type: 'string', description: `Name of the tool, from ${FIND}.` },
        arguments: { type: 'object', description: 'Arguments by the input schema of the tool.' },
      },
      required: ['name'],
      additionalProperties: false,
    },
  },
] as Tool[];

function jsonSchema(schema: z.ZodType): object {
  const { $schema: _, ...plain } = z.toJSONSchema(schema, { io: 'input' });
  return plain;
}

export function createToolSearch({ tools, mayCall }: ToolSearchOptions): ToolSearch {
  const indexOf = createToolIndex();

  async function find(given: unknown): Promise<CallToolResult> {
    const read = findSchema.safeParse(given ?? {});
    if (!read.success) return misused(FIND, read.error);
    const { query, limit, server } = read.data;
    const offered = await tools.current();
    const names = await found(offered, query, server);
    return listed(offered, names.slice(0, limit), names.length);
  }

  /** Names of tools that the caller may call, best first. */
  async function found(offered: OfferedTools, query: string, server?: string): Promise<string[]> {
    const search = await indexOf(offered);
    return search(query, server).filter((name) => isVisible(offered, name));
  }

  function isVisible({ offers }: OfferedTools, name: string): boolean {
    const offer = offers.get(name);
    return offer !== undefined && mayCall(offer);
  }

  async function describe(given: unknown): Promise<CallToolResult> {
    const read = describeSchema.safeParse(given ?? {});
    if (!read.success) return misused(DESCRIBE, read.error);
    const offered = await tools.current();
    const described = read.data.names.map((name) => {
      const offer = offered.find(name);
      if (offer !== undefined && mayCall(offer)) return { ...whole(name, offer), ...policyOf(offer) };
      return { name, error: 'unknown tool', close_names: closest(offered, name) };
    });
    return answer({ tools: withinBytes(described, MOST_DESCRIBED_BYTES) });
  }

  function closest(offered: OfferedTools, name: string): string[] {
    return closeNames(
      name,
      [...offered.offers.keys()].filter((known) => isVisible(offered, known)),
    );
  }

  return {
    descriptors: DESCRIPTORS,
    answer: async ({ name, arguments: given }) =>
      name === FIND ? find(given) : name === DESCRIBE ? describe(given) : null,
    inner(params) {
      if (params.name !== CALL) return params;
      // A directive of the HTTP API calls it `tool_name`, and models that know that write it here.
      const { tool_name: named, name = named, arguments: given, ...others } = params.arguments ?? {};
      const args = argumentsOf(given);
      if (typeof name === 'string' && name !== '' && args !== null && Object.keys(others).length === 0)
        return { name: name.slice(0, MOST_NAME_CHARACTERS), arguments: args };
      const message = `${CALL} takes {"name": "<name of a tool>", "arguments": {…}}`;
      return failure(errorEnvelope('validation_error', message));
    },
    async unknown(name) {
      const offered = await tools.current();
      const close = closest(offered, name);
      const others = close.length > 0 ? close : (await found(offered, name)).slice(0, MOST_SUGGESTED);
      const hint = others.length === 0 ? `Search with ${FIND}.` : `Close names: ${others.join(', ')}.`;
      const message = `Unknown tool: ${plain(name)}. ${hint}`;
      return failure(errorEnvelope('unknown_tool', message, { tool: plain(name), close_names: others }));
    },
    async isHidden(name) {
      const offer = await tools.find(name).catch(() => undefined);
      return offer !== undefined && !mayCall(offer);
    },
  };
}

/** Models often write the arguments of a call within a call as text. */
function argumentsOf(given: unknown): Record<string, unknown> | null {
  if (given === undefined) return {};
  if (typeof given !== 'string') return isObject(given) ? given : null;
  try {
    const read: unknown = JSON.parse(given);
    return isObject(read) ? read : null;
  } catch {
    return null;
  }
}

function misused(tool: string, { issues: [first] }: z.ZodError): CallToolResult {
  const place = first?.path.join('.') ?? '';
  const message = `${tool}: ${place === '' ? '' : `${place}: `}${first?.message ?? 'wrong arguments'}`;
  return failure(errorEnvelope('validation_error', message));
}

/** Results with their schemas while these are small, else with the names of their parameters. */
function listed({ offers }: OfferedTools, names: readonly string[], total: number): CallToolResult {
  const entries: object[] = [];
  let left = MOST_ANSWER_BYTES;
  for (const name of names) {
    const offer = offers.get(name);
    if (offer === undefined) continue;
    const { description, inputSchema } = descriptor(name, offer);
    const about = { name, description: shortened(description ?? ''), ...policyOf(offer) };
    const isSmall = bytesOf(inputSchema) <= Math.min(MOST_SHOWN_SCHEMA_BYTES, left - bytesOf(about));
    const entry = isSmall
      ? { ...about, input_schema: inputSchema }
      : { ...about, parameters: parameterNames(inputSchema) };
    left -= bytesOf(entry);
    if (left < 0) break;
    entries.push(entry);
  }
  const rest = total - entries.length;
  const more = rest > 0 ? { more: rest } : {};
  const hint = entries.length === 0 ? { hint: 'Nothing matches. Search with other words.' } : {};
  return answer({ tools: entries, ...more, ...hint });
}

function whole(name: string, offer: Offer): { readonly name: string } {
  const { description, inputSchema, outputSchema } = descriptor(name, offer);
  const about = {
    name,
    description: (description ?? '').slice(0, MOST_DESCRIBED_BYTES),
    input_schema: inputSchema,
    ...(outputSchema === undefined ? {} : { output_schema: outputSchema }),
  };
  return about;
}

function policyOf(offer: Offer): object {
  if (offer.server === null) return { effect: 'once' };
  return { effect: offer.effect, ...(offer.approval === true ? { asks_approval: true } : {}) };
}

const MOST_PARAMETERS = 50;

/** Optional parameters end with a question mark. */
function parameterNames({ properties, required }: Tool['inputSchema']): string[] {
  const needed = new Set<unknown>(Array.isArray(required) ? required : []);
  return Object.keys(properties ?? {})
    .slice(0, MOST_PARAMETERS)
    .map((name) => `${name.slice(0, MOST_NAME_CHARACTERS)}${needed.has(name) ? '' : '?'}`);
}

/** Entries beyond the bytes are named only. */
function withinBytes(entries: readonly { name: string }[], most: number): object[] {
  let left = most;
  return entries.map((entry) => {
    const bytes = bytesOf(entry);
    if (bytes > left)
      return { name: entry.name, error: `the description has ${bytes} bytes: ask for it alone, or call it` };
    left -= bytes;
    return entry;
  });
}

function shortened(text: string): string {
  const line = plain(text);
  return line.length <= MOST_DESCRIPTION_CHARACTERS ? line : `${line.slice(0, MOST_DESCRIPTION_CHARACTERS)}…`;
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** Text of a server without characters that are not seen. */
function plain(text: string): string {
  return text.toWellFormed().replaceAll(/[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
}

function answer(value: object): CallToolResult {
  const text = JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'string' ? plain(member) : member,
  );
  return { content: [{ type: 'text', text }] };
}
