/** The tools of one server by name, with their schemas, which are kept while they do not change.
 *  It must never compile a schema again during a call when an earlier call has compiled it. */
import type { Tool } from '@modelcontextprotocol/client';
import type { CheckedSchema, SchemaChecks, SchemaVerdict } from '../json-schema/schema-checks.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { ToolDefinition } from './tool-definition.ts';

export type ToolSchema = Pick<CheckedSchema, 'check'>;

export interface ListedTool {
  readonly definition: ToolDefinition;
  readonly input: ToolSchema;
  /** null: the tool declares no output schema. */
  readonly output: ToolSchema | null;
}

export interface ToolList {
  readonly definitions: readonly ToolDefinition[];
  find(name: string): ListedTool | undefined;
}

export interface ToolListOptions {
  readonly server: string;
  /** Provides compiled schemas for tools that have not changed. */
  readonly previous: ToolList | null;
  readonly logger: Logger;
  readonly schemas: SchemaChecks;
}

export function createToolList(tools: readonly Tool[], options: ToolListOptions): ToolList {
  const { server, previous } = options;
  const byName = new Map<string, ListedTool>();
  for (const tool of tools) {
    const definition = readDefinition(server, tool);
    const before = previous?.find(definition.name);
    const unchanged =
      before !== undefined && JSON.stringify(before.definition) === JSON.stringify(definition);
    byName.set(definition.name, unchanged ? before : createListedTool(definition, options));
  }
  return {
    definitions: [...byName.values()].map((tool) => tool.definition),
    find: (name) => byName.get(name),
  };
}

function createListedTool(definition: ToolDefinition, { logger, schemas }: ToolListOptions): ListedTool {
  const { name, inputSchema, outputSchema } = definition;
  const onUnusable = (reason: string): void =>
    logger.warn({ tool: name, reason }, 'MCP tool has a schema that checks nothing');
  return {
    definition,
    input: reported(schemas.of(inputSchema), onUnusable),
    output: outputSchema === undefined ? null : reported(schemas.of(outputSchema), onUnusable),
  };
}

/** Reports once that the schema cannot be used. */
function reported(schema: CheckedSchema, onUnusable: (reason: string) => void): ToolSchema {
  let isReported = false;
  const read = (verdict: SchemaVerdict): SchemaVerdict => {
    if (verdict.kind === 'unusable' && !isReported) onUnusable(verdict.reason);
    isReported ||= verdict.kind === 'unusable';
    return verdict;
  };
  return {
    check(value, root, signal) {
      const verdict = schema.check(value, root, signal);
      return verdict instanceof Promise ? verdict.then(read) : read(verdict);
    },
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
