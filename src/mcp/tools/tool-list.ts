/** The tools of one server by name, with their schemas, which are kept while they do not change.
 *  It must never compile a schema again during a call when an earlier call has compiled it. */
import type { Tool } from '@modelcontextprotocol/client';
import { createSteps } from '../../platform/bounds/steps.ts';
import { plainText } from '../../contract/json/plain-text.ts';
import type { CheckedSchema, SchemaChecks, SchemaVerdict } from '../../platform/json-schema/schema-checks.ts';
import { holdsMoreThan } from '../../platform/json-schema/harmless.ts';
import { usablePart } from '../../platform/json-schema/usable-part.ts';
import { shortened } from '../../platform/json-schema/shortened-text.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import { type DeclaredOffers, NO_OFFERS } from './server-offers.ts';
import { type DescriptorFault, descriptorFault, outputSchemaOf } from './read-descriptor.ts';
import type { ToolDefinition, ToolFault } from './tool-definition.ts';

export type ToolSchema = Pick<CheckedSchema, 'check'>;

export type TaskSupport = 'forbidden' | 'optional' | 'required';

export interface ListedTool {
  readonly definition: ToolDefinition;
  readonly input: ToolSchema;
  /** null: the tool declares no output schema. */
  readonly output: ToolSchema | null;
  /** Whether the older protocol lets a call be made as a task. */
  readonly tasks: TaskSupport;
  /** Parts of its schemas that cannot be checked. */
  readonly faults: readonly ToolFault[];
}

export interface ToolList {
  readonly definitions: readonly ToolDefinition[];
  /** Faults of the tools of the server, those that are left out included. */
  readonly faults: readonly ToolFault[];
  /** Instructions of the server for models; '' = none. */
  readonly instructions: string;
  /** Capabilities of the server besides tools. */
  readonly offers: DeclaredOffers;
  /** How long the list holds, as the server says; 0 = it does not say. Milliseconds. */
  readonly ttlMs: number;
  find(name: string): ListedTool | undefined;
  /** The fault for which a listed tool is left out; null: it is not left out. */
  leftOut(name: string): string | null;
}

export interface ToolListOptions {
  readonly server: string;
  /** Provides compiled schemas for tools that have not changed. */
  readonly previous: ToolList | null;
  readonly logger: Logger;
  readonly schemas: SchemaChecks;
  /** As the server wrote them. */
  readonly instructions?: string | undefined;
  /** Default: nothing. */
  readonly offers?: DeclaredOffers;
  /** Default: the server does not say. */
  readonly ttlMs?: number;
}

/** In steps: looking at the schemas of a long list takes longer than calls of other servers may wait. */
export async function createToolList(tools: readonly Tool[], options: ToolListOptions): Promise<ToolList> {
  const nextStep = createSteps();
  const byName = new Map<string, ListedTool>();
  const faults: ToolFault[] = [];
  const leftOut = new Map<string, string>();
  for (const tool of tools) {
    const fault = byName.has(tool.name) ? LISTED_TWICE : descriptorFault(tool);
    if (fault !== null) faults.push(toolFault(tool.name, messageOf(fault)));
    if (fault?.isLeftOut === true) {
      leftOut.set(shortened(tool.name, MAX_NAME_CHARACTERS), fault.message);
      continue;
    }
    const listed = listedTool(readDefinition(options.server, tool), options);
    const tasks = tool.execution?.taskSupport ?? 'forbidden';
    byName.set(tool.name, listed.tasks === tasks ? listed : { ...listed, tasks });
    faults.push(...listed.faults);
    await nextStep();
  }
  for (const fault of newFaults(faults, options.previous))
    options.logger.warn({ ...fault }, 'MCP tool is not described as it should be');
  return {
    definitions: [...byName.values()].map((tool) => tool.definition),
    faults,
    instructions: plainText(options.instructions ?? '')
      .trim()
      .slice(0, MAX_INSTRUCTIONS),
    offers: options.offers ?? NO_OFFERS,
    ttlMs: options.ttlMs ?? 0,
    find: (name) => byName.get(name),
    leftOut: (name) => leftOut.get(shortened(name, MAX_NAME_CHARACTERS)) ?? null,
  };
}

/** Tools that have not changed keep their definitions. */
export function isSameList(left: ToolList, right: ToolList): boolean {
  return (
    left.definitions.length === right.definitions.length &&
    left.definitions.every((definition, index) => definition === right.definitions[index]) &&
    JSON.stringify([left.faults, left.instructions, left.offers]) ===
      JSON.stringify([right.faults, right.instructions, right.offers])
  );
}

/** Characters of instructions of a server; a host bounds those of all servers together. */
const MAX_INSTRUCTIONS = 2_000;
const MAX_NAME_CHARACTERS = 200;
const MAX_MESSAGE_CHARACTERS = 500;

/** A server chooses what it is made of, and it is kept, sent and logged. */
function toolFault(name: string, message: string): ToolFault {
  return {
    tool: shortened(name, MAX_NAME_CHARACTERS),
    message: shortened(message, MAX_MESSAGE_CHARACTERS),
  };
}

const LISTED_TWICE: DescriptorFault = { message: 'is listed again', isLeftOut: true };

function messageOf({ message, isLeftOut }: DescriptorFault): string {
  return isLeftOut ? `${message}, and is left out` : message;
}

/** Each fault is logged once, not with every listing. */
function newFaults(faults: readonly ToolFault[], previous: ToolList | null): ToolFault[] {
  const known = new Set(previous?.faults.map(({ tool, message }) => `${tool} ${message}`));
  return faults.filter(({ tool, message }) => !known.has(`${tool} ${message}`)).slice(0, MAX_LOGGED_FAULTS);
}

const MAX_LOGGED_FAULTS = 20;

/** A tool that has not changed keeps its compiled schemas. */
function listedTool(definition: ToolDefinition, options: ToolListOptions): ListedTool {
  const before = options.previous?.find(definition.name);
  const unchanged = before !== undefined && JSON.stringify(before.definition) === JSON.stringify(definition);
  return unchanged ? before : createListedTool(definition, options);
}

function createListedTool(definition: ToolDefinition, { logger, schemas }: ToolListOptions): ListedTool {
  const { name, inputSchema, outputSchema } = definition;
  const onUnusable = (reason: string): void =>
    logger.warn(
      { tool: shortened(name, MAX_NAME_CHARACTERS), reason },
      'MCP tool has a schema that checks nothing',
    );
  return {
    definition,
    input: reported(schemas.of(inputSchema), onUnusable),
    output: outputSchema === undefined ? null : reported(schemas.of(outputSchema), onUnusable),
    tasks: 'forbidden',
    faults: [
      ...schemaFaults(name, 'an input schema', inputSchema),
      ...schemaFaults(name, 'an output schema', outputSchema ?? {}),
    ],
  };
}

/** Looking takes about 5 µs for each value, on the main thread. */
const MAX_VALUES = 2_000;

function schemaFaults(tool: string, which: string, schema: Readonly<Record<string, unknown>>): ToolFault[] {
  if (holdsMoreThan(schema, MAX_VALUES))
    return [toolFault(tool, `has ${which} that is too large to find the part that cannot be checked`)];
  const [first, ...others] = usablePart(schema).faults;
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return [toolFault(tool, `has ${which} that is checked only in part: ${first}${more}`)];
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
    check(value, root, options) {
      const verdict = schema.check(value, root, options);
      return verdict instanceof Promise ? verdict.then(read) : read(verdict);
    },
  };
}

function readDefinition(server: string, tool: Tool): ToolDefinition {
  const title = tool.title ?? tool.annotations?.title;
  const outputSchema = outputSchemaOf(tool);
  return {
    server,
    name: tool.name,
    ...(title === undefined ? {} : { title }),
    ...(tool.description === undefined ? {} : { description: tool.description }),
    inputSchema: tool.inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    ...(tool.annotations === undefined ? {} : { annotations: definedHints(tool.annotations) }),
  };
}

/** Absent and undefined are not the same under exactOptionalPropertyTypes. */
function definedHints(
  annotations: NonNullable<Tool['annotations']>,
): NonNullable<ToolDefinition['annotations']> {
  return Object.fromEntries(Object.entries(annotations).filter(([, hint]) => hint !== undefined));
}
