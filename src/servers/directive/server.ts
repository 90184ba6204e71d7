/** The MCP server of the five tools, on the SDK's low-level server: the high-level one changes descriptors.
 *  It has no resources, no notifications and writes nothing. */
import { type CallToolResult, Server } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { type OnCall, reported } from './call-report.ts';
import type { DirectiveFolder } from './directive-folder.ts';
import {
  done,
  type Outcome,
  type Refusal,
  refused,
  serverFault,
  unknownMethod,
  unknownTool,
} from './refusal.ts';
import { type NameStyle, toolCalled, toolDescriptors } from './tool-descriptors.ts';
import { bundleOf, type Template } from './bundle.ts';

export interface DirectiveServerOptions {
  readonly folder: DirectiveFolder;
  readonly version: string;
  readonly names: NameStyle;
  readonly onCall: OnCall;
}

/** Methods of clients older than `tools/call`, with the tool of each. Their results are not wrapped. */
const OLDER_METHODS: readonly (readonly [string, string])[] = [
  ['directive.files.list', 'directive/files.list'],
  ['directive.file.get', 'directive/file.get'],
  ['spec.template', 'directive/spec.template'],
  ['impact.template', 'directive/impact.template'],
  ['tdr.template', 'directive/tdr.template'],
];

interface Call {
  readonly name: string;
  readonly traceparent: unknown;
}

const ANY_PARAMS = z.looseObject({});

export function createDirectiveServer(options: DirectiveServerOptions): Server {
  const { version, names } = options;
  const server = new Server({ name: 'directive', version }, { capabilities: { tools: {} } });
  server.setRequestHandler('tools/list', () => ({ tools: toolDescriptors(names) }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const { name, arguments: args = {} } = params;
    return wrapped(await answer(options, { name, traceparent: mcpReq._meta?.['traceparent'] }, args));
  });
  for (const [method, tool] of OLDER_METHODS) {
    const schemas = { params: ANY_PARAMS, result: ANY_PARAMS };
    const call = { name: tool, traceparent: undefined };
    server.setRequestHandler(method, schemas, async (params) => ({
      ...(await answer(options, call, params)),
    }));
  }
  return server;
}

/** Not over HTTP, where the answer of the SDK has the status 404. */
export function nameUnknownMethods(server: Server): Server {
  server.fallbackRequestHandler = async ({ method }) => {
    throw errorOf(unknownMethod(method));
  };
  return server;
}

/** Throws what the SDK turns into a JSON-RPC error. */
async function answer(options: DirectiveServerOptions, call: Call, args: Arguments): Promise<Payload> {
  const { folder, onCall } = options;
  const outcome = await reported(call, async () => callTool(folder, call.name, args), onCall);
  if (!outcome.ok) throw errorOf(outcome.refusal);
  return outcome.value;
}

/** The SDK copies code, message and data as they are. */
function errorOf({ message, ...rest }: Refusal): Error {
  return Object.assign(new Error(message), rest);
}

function wrapped(payload: Payload): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(payload) }] };
}

/** JSON: its keys and their order are the contract's. */
type Payload = object;

type Arguments = Readonly<Record<string, unknown>>;

type ToolCall = (folder: DirectiveFolder, args: Arguments) => Promise<Outcome<Payload>>;

const CALLS: Readonly<Record<string, ToolCall>> = {
  'directive/files.list': listFiles,
  'directive/file.get': getFile,
  'directive/spec.template': bundleCall('spec_template.md'),
  'directive/impact.template': bundleCall('impact_template.md'),
  'directive/tdr.template': bundleCall('tdr_template.md'),
};

/** Unknown arguments are ignored, as other servers of these tools do. */
export async function callTool(
  folder: DirectiveFolder,
  name: string,
  args: Arguments,
): Promise<Outcome<Payload>> {
  const call = CALLS[toolCalled(name) ?? ''];
  return call === undefined ? refused(unknownTool(name)) : call(folder, args);
}

async function listFiles(folder: DirectiveFolder): Promise<Outcome<Payload>> {
  const listed = await folder.list();
  return listed.ok ? done({ files: listed.value }) : listed;
}

async function getFile(folder: DirectiveFolder, { path }: Arguments): Promise<Outcome<Payload>> {
  if (typeof path !== 'string') return refused(serverFault('path must be a string', 'path'));
  const read = await folder.read(path);
  return read.ok ? done({ path, content: read.value }) : read;
}

function bundleCall(template: Template): ToolCall {
  return async (folder) => bundleOf(folder, template);
}
