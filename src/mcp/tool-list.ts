/** The tools of one server by name, with their schemas compiled on first use and kept as long as they do not change.
 *  It must never compile during a call what an earlier call has compiled. */
import type { Tool } from '@modelcontextprotocol/client';
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

/** `previous` lends its compiled schemas to the tools that have not changed. */
export function createToolList(server: string, tools: readonly Tool[], previous: ToolList | null): ToolList {
  const byName = new Map<string, ListedTool>();
  for (const tool of tools) {
    const definition = readDefinition(server, tool);
    const before = previous?.find(definition.name);
    const unchanged =
      before !== undefined && JSON.stringify(before.definition) === JSON.stringify(definition);
    byName.set(definition.name, unchanged ? before : createListedTool(definition));
  }
  return {
    definitions: [...byName.values()].map((tool) => tool.definition),
    find: (name) => byName.get(name),
  };
}

function createListedTool(definition: ToolDefinition): ListedTool {
  let input: CompiledSchema | null = null;
  let output: CompiledSchema | null = null;
  return {
    definition,
    input: () => (input ??= compileSchema(definition.inputSchema)),
    output: () =>
      definition.outputSchema === undefined ? null : (output ??= compileSchema(definition.outputSchema)),
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
