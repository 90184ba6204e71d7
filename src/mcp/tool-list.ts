/** The tools of one server by name, with their schemas compiled on first use and kept as long as they do not change.
 *  It must never compile during a call what an earlier call has compiled. */
import type { Tool } from '@modelcontextprotocol/client';
import type { McpLogger } from './logger.ts';
import { type CompiledSchema, compileSchema } from './schema-validator.ts';
import type { ToolDefinition } from './tool-definition.ts';

export interface ListedTool {
  readonly definition: ToolDefinition;
  input(): CompiledSchema;
  /** null: the tool declares no output schema. */
  output(): CompiledSchema | null;
}

export interface ToolList {
  readonly definitions: readonly ToolDefinition[];
  find(name: string): ListedTool | undefined;
}

export interface ToolListOptions {
  readonly server: string;
  /** Lends its compiled schemas to the tools that have not changed. */
  readonly previous: ToolList | null;
  readonly logger: McpLogger;
}

export function createToolList(tools: readonly Tool[], options: ToolListOptions): ToolList {
  const { server, previous, logger } = options;
  const byName = new Map<string, ListedTool>();
  for (const tool of tools) {
    const definition = readDefinition(server, tool);
    const before = previous?.find(definition.name);
    const unchanged =
      before !== undefined && JSON.stringify(before.definition) === JSON.stringify(definition);
    byName.set(definition.name, unchanged ? before : createListedTool(definition, logger));
  }
  return {
    definitions: [...byName.values()].map((tool) => tool.definition),
    find: (name) => byName.get(name),
  };
}

function createListedTool(definition: ToolDefinition, logger: McpLogger): ListedTool {
  const { name, inputSchema, outputSchema } = definition;
  const compile = (schema: ToolDefinition['inputSchema']): CompiledSchema => {
    const compiled = compileSchema(schema);
    if (!compiled.ok)
      logger.warn({ tool: name, reason: compiled.reason }, 'MCP tool has a schema that checks nothing');
    return compiled;
  };
  let input: CompiledSchema | null = null;
  let output: CompiledSchema | null = null;
  return {
    definition,
    input: () => (input ??= compile(inputSchema)),
    output: () => (outputSchema === undefined ? null : (output ??= compile(outputSchema))),
  };
}

function readDefinition(server: string, tool: Tool): ToolDefinition {
  const title = tool.title ?? tool.annotations?.title;
  return {
    server,
    name: tool.name,
    ...(title === undefined ? {} : { title }),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    inputSchema: tool.inputSchema,
    ...(tool.outputSchema === undefined ? {} : { outputSchema: tool.outputSchema }),
    ...(tool.annotations === undefined ? {} : { annotations: definedHints(tool.annotations) }),
  };
}

/** Absent and undefined are not the same under exactOptionalPropertyTypes. */
function definedHints(
  annotations: NonNullable<Tool['annotations']>,
): NonNullable<ToolDefinition['annotations']> {
  return Object.fromEntries(Object.entries(annotations).filter(([, hint]) => hint !== undefined));
}
