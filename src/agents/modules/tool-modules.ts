// Loads the tools of modules that entries of `mcpServers` name, with the schema that callers see.
// Must never accept two tools of one name on one server, nor arguments that JSON Schema cannot describe.
import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { type ModuleTool, toolFault } from './define-tool.ts';
import { exportsOf, fault } from './module-exports.ts';

export interface LoadedTool {
  readonly tool: ModuleTool;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

/** The tools by the name of the server, then of the tool. */
export type ToolModules = ReadonlyMap<string, ReadonlyMap<string, LoadedTool>>;

export const isTool = (value: object): boolean => 'input' in value && 'execute' in value;

export async function loadTools({
  mcpServers,
  directory,
}: Pick<Config, 'mcpServers' | 'directory'>): Promise<ToolModules> {
  const loaded = new Map<string, ReadonlyMap<string, LoadedTool>>();
  for (const [name, server] of mcpServers)
    if (server.kind === 'module') loaded.set(name, await toolsOf(directory, name, server.module));
  return loaded;
}

async function toolsOf(directory: string, server: string, path: string): Promise<Map<string, LoadedTool>> {
  const place = `mcpServers.${server}.module`;
  const tools = new Map<string, LoadedTool>();
  for (const value of await exportsOf(directory, path, place, isTool)) {
    const wrong = toolFault(value);
    if (wrong !== null) throw fault(path, place, `exports a wrong tool: ${wrong}`);
    const tool = value as ModuleTool;
    if (tools.has(tool.name)) throw fault(path, place, `exports two tools named "${tool.name}"`);
    tools.set(tool.name, { tool, inputSchema: schemaOf(tool, path, place) });
  }
  return tools;
}

function schemaOf({ name, input }: ModuleTool, path: string, place: string): Record<string, unknown> {
  const says = `exports a tool "${name}" whose input`;
  try {
    const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' });
    if (schema.type === 'object') return schema;
  } catch (error) {
    throw fault(path, place, `${says} cannot be written as JSON Schema: ${String(error)}`);
  }
  throw fault(path, place, `${says} is not an object`);
}
