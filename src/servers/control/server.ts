/** The MCP server of the control tools: reads a call, and writes its answer with the control directives in it.
 *  It must never hold anything of a run: each call brings what it needs. */
import { createHash, randomUUID } from 'node:crypto';
import { type CallToolResult, ProtocolError, ProtocolErrorCode, Server } from '@modelcontextprotocol/server';
import { fieldErrors, fieldLine } from '../../contract/json/field-error.ts';
import { isObject, ownMember } from '../../contract/json/json-object.ts';
import { type Answer, callTool, type CallPlace } from './tool-calls.ts';
import {
  argumentSchemas,
  type ArgumentSchemas,
  type ControlTool,
  type Known,
  toolDescriptors,
} from './tool-arguments.ts';

export interface ControlServerOptions extends Known {
  readonly version: string;
}

const MOST_FAULTS = 20;

export function createControlServer({ version, ...known }: ControlServerOptions): Server {
  const schemas = argumentSchemas(known);
  const tools = toolDescriptors(schemas);
  const server = new Server({ name: 'adjutant-control', version }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: [...tools] }));
  server.setRequestHandler('tools/call', ({ params: { name, arguments: args = {}, _meta } }) => {
    if (!Object.hasOwn(schemas, name))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 256)}`);
    return resultOf(answerTo(schemas, name as ControlTool, args, placeOf(_meta)));
  });
  return server;
}

function answerTo(schemas: ArgumentSchemas, tool: ControlTool, args: object, place: CallPlace): Answer {
  const parsed = schemas[tool].safeParse(args);
  if (parsed.success) return callTool(tool, parsed.data as never, place);
  const faults = fieldErrors(parsed.error).slice(0, MOST_FAULTS);
  return { ok: false, message: `Error: ${faults.map(fieldLine).join('; ')}` };
}

function resultOf(answer: Answer): CallToolResult {
  if (!answer.ok) return { content: [{ type: 'text', text: answer.message }], isError: true };
  const { result, directives } = answer;
  return { content: [{ type: 'text', text: JSON.stringify({ result, _directives: directives }) }] };
}

const CONTEXT = 'adjutant/context';
const CALL_KEY = 'adjutant/idempotencyKey';

function placeOf(meta: unknown): CallPlace {
  const key = memberOf(meta, CALL_KEY);
  const call = typeof key === 'string' ? key : randomUUID();
  const control = memberOf(memberOf(memberOf(meta, CONTEXT), 'state'), 'control');
  return {
    todos: memberOf(control, 'todos'),
    nowAt: new Date().toISOString(),
    newId: (nth) => createHash('sha256').update(`${call}:${nth}`).digest('hex').slice(0, 8),
  };
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? ownMember(value, name) : undefined;
}
