/** The five tools as `tools/list` shows them, and every name under which each can be called.
 *  It must never change a byte of a descriptor: clients and the fixture of the tests compare them. */

export interface ToolDescriptor {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: 'object';
    readonly additionalProperties: false;
    readonly properties: Record<string, { type: 'string'; description: string }>;
    readonly required?: string[];
  };
}

/** `exact`: the names of the contract. `portable`: for hosts that refuse `/` and `.` in a name. */
export type NameStyle = 'exact' | 'portable';

const NO_ARGUMENTS: ToolDescriptor['inputSchema'] = {
  type: 'object',
  additionalProperties: false,
  properties: {},
};

const DESCRIPTORS: readonly ToolDescriptor[] = [
  {
    name: 'directive/files.list',
    title: 'List Directive Files',
    description: 'List all files under the repository’s directive/ directory (context and templates).',
    inputSchema: NO_ARGUMENTS,
  },
  {
    name: 'directive/file.get',
    title: 'Read Directive File',
    description: 'Read a file under directive/ by path and return its full contents verbatim.',
    inputSchema: {
      type: 'object',
      additionalProperties: false,
      properties: {
        path: {
          type: 'string',
          description: 'Path under directive/ (e.g., directive/reference/agent_context.md)',
        },
      },
      required: ['path'],
    },
  },
  {
    name: 'directive/spec.template',
    title: 'Spec Template Bundle',
    description:
      'Return Agent Operating Procedure, Agent Context, and the Spec template, plus a concise Primer for drafting a new Spec.',
    inputSchema: NO_ARGUMENTS,
  },
  {
    name: 'directive/impact.template',
    title: 'Impact Template Bundle',
    description:
      'Return Agent Operating Procedure, Agent Context, and the Impact template, plus a concise Primer for drafting an Impact analysis.',
    inputSchema: NO_ARGUMENTS,
  },
  {
    name: 'directive/tdr.template',
    title: 'TDR Template Bundle',
    description:
      'Return Agent Operating Procedure, Agent Context, and the TDR template, plus a concise Primer for drafting a Technical Design Review.',
    inputSchema: NO_ARGUMENTS,
  },
];

/** Names of later releases of the same tools: accepted, never listed. */
const LATER_NAMES: readonly (readonly [string, string])[] = [
  ['directive/files.get', 'directive/file.get'],
  ['directive/templates.spec', 'directive/spec.template'],
  ['directive/templates.impact', 'directive/impact.template'],
  ['directive/templates.tdr', 'directive/tdr.template'],
];

const CALLABLE: ReadonlyMap<string, string> = new Map([
  ...DESCRIPTORS.map(({ name }) => [name, name] as const),
  ...DESCRIPTORS.map(({ name }) => [portable(name), name] as const),
  ...LATER_NAMES,
]);

export function toolDescriptors(style: NameStyle): ToolDescriptor[] {
  return DESCRIPTORS.map((each) =>
    style === 'exact' ? { ...each } : { ...each, name: portable(each.name) },
  );
}

/** The exact name of the tool that `name` denotes; null: no such tool. */
export function toolCalled(name: string): string | null {
  return CALLABLE.get(name) ?? null;
}

function portable(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}
