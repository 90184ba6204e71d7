// The Terraform example as its parser reads it: resources, variables, containers, and what its expressions refer to.
// Must never take a reference for good that it did not find.
import { type Body, hasAttribute, type Json, textOf, type Types } from './terraform-schema.ts';

export type Files = Readonly<Record<string, string>>;

export interface Example {
  /** By `aws_kind.name`, `data.aws_kind.name` and `provider.aws`. */
  readonly resources: ReadonlyMap<string, Body>;
  readonly variables: Body;
  readonly locals: Body;
  /** The containers of a task: one that prepares its volumes, and the role. */
  readonly containers: readonly Body[];
  /** Every expression outside of the variables. */
  readonly expressions: readonly string[];
  /** All files. */
  readonly text: string;
}

type Parse = (name: string, text: string) => Promise<Record<string, Json>>;
/** Blocks with one name, and with two. */
type Named = Readonly<Record<string, readonly [Body]>>;
type Kinds = Readonly<Record<string, Named>>;

/** Rejects with the place of a syntax error. In what `parse` gives, expressions are `${…}`, and blocks are lists. */
export async function readExample(files: Files, parse: Parse): Promise<Example> {
  const parsed = await Promise.all(Object.entries(files).map(async ([file, text]) => parse(file, text)));
  const all = (name: string): Json[] => parsed.flatMap((file) => file[name] ?? []);
  const merged = (name: string): object => Object.assign({}, ...(all(name) as object[])) as object;
  const bodies = (prefix: string, blocks: Named): [string, Body][] =>
    Object.entries(blocks).map(([name, [body]]) => [`${prefix}${name}`, body]);
  const ofKinds = (prefix: string, name: string): [string, Body][] =>
    (all(name) as Kinds[]).flatMap((kinds) =>
      Object.entries(kinds).flatMap(([kind, named]) => bodies(`${prefix}${kind}.`, named)),
    );
  const resources = new Map([
    ...ofKinds('', 'resource'),
    ...ofKinds('data.', 'data'),
    ...bodies('provider.', merged('provider') as Named),
  ]);
  const [, list = '[]'] =
    /^\$\{jsonencode\((.*)\)\}$/s.exec(
      textOf(resources.get('aws_ecs_task_definition.role')?.['container_definitions']),
    ) ?? [];
  const { locals } = await parse('containers', `locals {\n  containers = ${list}\n}`);
  return {
    resources,
    variables: Object.fromEntries(bodies('', merged('variable') as Named)),
    locals: merged('locals') as Body,
    containers: (locals as unknown as [{ containers: Body[] }])[0].containers,
    expressions: parsed.flatMap((file) => expressionsIn({ ...file, variable: null })),
    text: Object.values(files).join('\n'),
  };
}

/** The expressions in a value, without comments and texts. */
function expressionsIn(value: Json): string[] {
  if (typeof value === 'object') return Object.values(value ?? {}).flatMap(expressionsIn);
  if (!textOf(value).includes('${')) return [];
  return [
    textOf(value)
      .replaceAll(/(?:^|\s)#.*$/gm, '')
      .replaceAll(/"(?:[^"$\\]|\\.)*"/g, '""'),
  ];
}

const RESOURCE = /(?<![\w.])((?:data\.)?aws_\w+\.\w+)(\[[^\]]*\])?(?:\.(\w+))?/g;
const ROOT = /(?<![\w.\]"-])([a-z_]\w*)\.[a-z_]/g;
const KNOWN_ROOT = /^(?:var|local|data|each|aws_\w+)$/;
const BOUND = /\bfor\s+(\w+)(?:\s*,\s*(\w+))?\s+in\b/g;

export function referenceFaults(example: Example, types: Types): string[] {
  const { resources, variables, locals, expressions } = example;
  const all = [...expressions, ...expressionsIn(variables)];
  const data = [...resources.keys()].filter((address) => address.startsWith('data.'));
  const code = expressions.join('\n');
  return [
    ...declarationFaults('var', variables, { all, used: expressions }),
    ...declarationFaults('local', locals, { all, used: expressions }),
    ...[...code.matchAll(RESOURCE)].flatMap((found) => attributeFaults(example, types, found)),
    ...data.filter((address) => !code.includes(address)).map((address) => `${address} is not used`),
    ...[...resources].flatMap(([address, { for_each: loop, ...body }]) =>
      loop === undefined && /\beach\./.test(expressionsIn(body).join('\n')) ? [`${address} has no each`] : [],
    ),
    ...all.flatMap((text) => {
      const bound = [...text.matchAll(BOUND)].flatMap(([, one, other]) => [one, other]);
      const roots = [...text.matchAll(ROOT)].map(([, root = '']) => root);
      return roots
        .filter((root) => !KNOWN_ROOT.test(root) && !bound.includes(root))
        .map((root) => `${root} is unknown`);
    }),
  ];
}

function declarationFaults(
  root: string,
  declared: Body,
  { all, used }: { readonly all: readonly string[]; readonly used: readonly string[] },
): string[] {
  const pattern = new RegExp(`(?<![\\w.])${root}\\.(\\w+)`, 'g');
  const namesIn = (texts: readonly string[]): string[] =>
    texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = '']) => name));
  const usedNames = namesIn(used);
  return [
    ...namesIn(all)
      .filter((name) => !(name in declared))
      .map((name) => `${root}.${name} does not exist`),
    ...Object.keys(declared)
      .filter((name) => !usedNames.includes(name))
      .map((name) => `${root}.${name} is not used`),
  ];
}

function attributeFaults(
  { resources }: Example,
  types: Types,
  [whole, address = '', index, attribute]: RegExpExecArray,
): string[] {
  const body = resources.get(address);
  if (body === undefined) return [`${whole} does not exist`];
  if (attribute === undefined) return [];
  const isRepeated = body['for_each'] !== undefined;
  if (isRepeated !== (index !== undefined))
    return [`${whole} is ${isRepeated ? 'one of several' : 'the only one'}`];
  return hasAttribute(types, address, attribute) ? [] : [`${whole} is no attribute`];
}
