/** Definitions that a tenant adds while the service runs, at the terminal: the verbs `add`, `remove` and `list` that servers, agents and
 *  policies share. It must never replace another version than the one that it has read. */
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { isObject } from '../contract/json/json-object.ts';
import type { OfTenant } from '../contract/runtime-definition.ts';
import { examples } from './examples.ts';
import { EXIT, usage } from './failure.ts';
import type { CommandLine, Invocation } from './invocation.ts';
import { instantText } from './table.ts';
import { oneLine, plainJson } from './terminal.ts';

/** Members of every view of a definition. */
export interface ShownDefinition {
  readonly name: string;
  readonly version: string;
  readonly changed_at: string;
  readonly changed_by: string | null;
  readonly fault: string | null;
}

export interface DefinitionVerbs<View extends ShownDefinition> {
  /** Word for one of them, with its article: `a policy`. */
  readonly noun: string;
  readonly plural: string;
  /** Section of the configuration that holds them by name, where a file is a whole configuration. */
  readonly section: string;
  /** Meaning of its removal. */
  readonly removal: string;
  readonly put: (
    client: Invocation['client'],
    name: string,
    given: { readonly definition: Record<string, unknown>; readonly version?: string },
    options: OfTenant,
  ) => Promise<View>;
  readonly remove: (
    client: Invocation['client'],
    name: string,
    query: { readonly version?: string },
    options: OfTenant,
  ) => Promise<View>;
  readonly list: (client: Invocation['client'], options: OfTenant) => Promise<readonly View[]>;
  readonly head: readonly string[];
  readonly row: (shown: View) => string[];
}

const VERSION = 'the version that is replaced; default: the present one';
const CHANGED_TENANT = 'of another tenant: for administrators of the tenant default';

interface Given extends OfTenant {
  readonly version?: string;
}

/** Adds `add`, `remove` and `list` to a verb. */
export function addDefinitionVerbs<View extends ShownDefinition>(
  command: Command,
  withClient: CommandLine['withClient'],
  verbs: DefinitionVerbs<View>,
): void {
  const { noun, section, plural } = verbs;
  const add = command
    .command('add <name> <file>')
    .description(`add or replace ${noun} of your tenant while the service runs (admin)`)
    .option('--version <number>', VERSION)
    .option('--tenant <name>', CHANGED_TENANT);
  examples(add, [`${command.name()} add ${EXAMPLES[section] ?? 'a a.json'}`]);
  add.action(async (name: string, file: string, { version, tenant }: Given) =>
    withClient(async ({ client, terminal, json }) => {
      const definition = await definitionIn(file, { noun, section, name });
      const present =
        version ?? (await verbs.list(client, { tenant })).find((each) => each.name === name)?.version;
      const given = { definition, ...(present && { version: present }) };
      const added = await verbs.put(client, name, given, { tenant });
      if (json) terminal.out(JSON.stringify(added));
      else terminal.rows([[...verbs.head], verbs.row(added)]);
      return EXIT.done;
    }),
  );
  command
    .command('remove <name>')
    .description(`remove ${noun} that was added at runtime; ${verbs.removal} (admin)`)
    .option('--version <number>', 'refuse to remove another version; default: any')
    .option('--tenant <name>', CHANGED_TENANT)
    .action(async (name: string, { version, tenant }: Given) =>
      withClient(async ({ client, terminal, json }) => {
        const query = version === undefined ? {} : { version };
        const removed = await verbs.remove(client, name, query, { tenant });
        terminal.out(json ? JSON.stringify(removed) : `${removed.name} is removed`);
        return EXIT.done;
      }),
    );
  command
    .command('list')
    .description(`list the ${plural} that your tenant has added at runtime (admin)`)
    .option('--tenant <name>', CHANGED_TENANT)
    .action(async (options: OfTenant) =>
      withClient(async ({ client, terminal, json }) => {
        const listed = await verbs.list(client, options);
        if (json) for (const each of listed) terminal.out(plainJson(each));
        else terminal.rows([[...verbs.head], ...listed.map(verbs.row)]);
        return EXIT.done;
      }),
    );
}

const EXAMPLES: Readonly<Record<string, string>> = {
  mcpServers: 'crm crm.json',
  agents: 'clerk clerk.json',
  policy: 'spending spending.json',
};

export const CHANGE_HEAD = ['CHANGED (UTC)', 'BY', 'FAULT'];

export function changeRow(
  { changed_at: at, changed_by: by, fault }: ShownDefinition,
  error?: string,
): string[] {
  return [instantText(at), oneLine(by ?? '-', 40), oneLine(fault ?? error ?? '-', 200)];
}

export interface DefinitionFile {
  readonly noun: string;
  readonly section: string;
  /** null: it has no name yet. */
  readonly name: string | null;
}

/** A definition alone, or a configuration with it in its section. Throws a usage error. */
export async function definitionIn(
  file: string,
  { noun, section, name }: DefinitionFile,
): Promise<Record<string, unknown>> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw usage(`${oneLine(file, 200)} cannot be read.`, `Name a file with the JSON of ${noun}.`);
  });
  const value = parsed(text);
  const whole = isObject(value) ? value[section] : undefined;
  if (whole === undefined && isObject(value)) return value;
  const found =
    section === 'policy'
      ? whole
      : isObject(whole) && name !== null && Object.hasOwn(whole, name)
        ? whole[name]
        : undefined;
  if (isObject(found)) return found;
  throw usage(`${oneLine(file, 200)} holds no definition of ${noun}.`, `Write the JSON of ${noun} into it.`);
}

/** undefined: no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
