// The shapes that the readers of the Terraform example publish: arguments of the provider's resources, and containers of the ECS API.
// Must never accept a name that is not listed; a value that only a plan knows is of any type.
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };
export type Body = Readonly<Record<string, Json>>;

/** A type of jsii, in which the package of the provider describes itself. */
interface Type {
  readonly primitive?: 'string' | 'number' | 'boolean' | 'any';
  readonly fqn?: string;
  readonly collection?: { readonly elementtype: Type; readonly kind: 'array' | 'map' };
  readonly union?: { readonly types: readonly Type[] };
}
interface Property {
  readonly name: string;
  readonly optional?: boolean;
  readonly type: Type;
  readonly docs?: { readonly summary?: string };
}
export type Types = Readonly<Record<string, { readonly properties?: readonly Property[] } | undefined>>;

const META = ['for_each', 'count', 'depends_on', 'lifecycle', 'provider'];
const LIFECYCLE = ['ignore_changes', 'create_before_destroy', 'prevent_destroy', 'replace_triggered_by'];

export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const isUnknown = (value: Json): boolean => textOf(value).includes('${');
const isBody = (value: Json): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const camel = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** `address`: as `aws_vpc.name`, `data.aws_vpc.name` or `provider.aws`. */
function className(address: string): string {
  if (address === 'provider.aws') return '@cdktf/provider-aws.provider.AwsProvider';
  const kind = address.slice(0, address.lastIndexOf('.'));
  const name = camel(kind.replace(/^data\./, 'data_').replace(/^aws_/, ''));
  return `@cdktf/provider-aws.${name}.${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

export function hasAttribute(types: Types, address: string, attribute: string): boolean {
  return (types[className(address)]?.properties ?? []).some(({ name }) => name === camel(attribute));
}

/** `text` is the source, in which a block and an attribute differ. */
export function resourceFaults(types: Types, address: string, resource: Body, text: string): string[] {
  const name = `${className(address)}Config`;
  const config = types[name];
  if (config === undefined)
    return [`is unknown: the provider has no ${address.slice(0, address.lastIndexOf('.'))}`];
  const own = Object.fromEntries(Object.entries(resource).filter(([argument]) => !META.includes(argument)));
  const [lifecycle = {}] = (resource['lifecycle'] ?? []) as readonly Body[];
  const ignored = ((lifecycle['ignore_changes'] ?? []) as readonly string[]).map((each) => each.slice(2, -1));
  const known = (config.properties ?? []).map((property) => property.name);
  return [
    ...bodyFaults(types, name, own, text),
    ...Object.keys(lifecycle)
      .filter((each) => !LIFECYCLE.includes(each))
      .map((each) => `lifecycle has no argument ${each}`),
    ...ignored.filter((each) => !known.includes(camel(each))).map((each) => `ignores the unknown ${each}`),
  ];
}

function bodyFaults(types: Types, config: string, body: Body, text: string): string[] {
  const properties = types[config]?.properties ?? [];
  const missing = properties.filter(({ name, optional }) => !optional && !(snake(name) in body));
  const faults = Object.entries(body).flatMap(([name, value]) => {
    const property = properties.find((each) => each.name === camel(name) && snake(each.name) === name);
    if (property === undefined) return [`has no argument ${name}`];
    const isBlock = property.docs?.summary?.endsWith(' block.') === true;
    return isBlock
      ? blockFaults(types, property, name, { value, text })
      : valueFaults(property.type, value, name);
  });
  return [...missing.map(({ name }) => `lacks the argument ${snake(name)}`), ...faults];
}

function blockFaults(
  types: Types,
  { type }: Property,
  name: string,
  { value, text }: { value: Json; text: string },
): string[] {
  if (!Array.isArray(value) || new RegExp(`^\\s*${name}\\s*=`, 'm').test(text)) return [`${name} is a block`];
  const { fqn, collection } = plain(type);
  const config = fqn ?? collection?.elementtype.fqn ?? '';
  const repeated = fqn !== undefined && value.length > 1 ? [`${name} is repeated`] : [];
  const inner = (value as readonly Body[]).flatMap((body) => bodyFaults(types, config, body, text));
  return [...repeated, ...inner.map((fault) => `${name} ${fault}`)];
}

/** The type without the alternative for an expression in code. */
function plain(type: Type): Type {
  return type.union?.types.find(({ fqn }) => fqn !== 'cdktf.IResolvable') ?? type;
}

function valueFaults(type: Type, value: Json, name: string): string[] {
  if (isUnknown(value)) return [];
  const { primitive, collection } = plain(type);
  if (primitive !== undefined) return isPrimitive(primitive, value) ? [] : [`${name} is no ${primitive}`];
  if (collection?.kind === 'map') return isBody(value) ? [] : [`${name} is no map`];
  if (!Array.isArray(value)) return [`${name} is no list`];
  const element = collection?.elementtype ?? {};
  return value.flatMap((each: Json) => valueFaults(element, each, name));
}

/** Terraform converts literals between these types. */
function isPrimitive(primitive: string, value: Json): boolean {
  if (typeof value === 'object') return primitive === 'any';
  if (primitive === 'number') return typeof value !== 'boolean' && Number.isFinite(Number(value));
  return primitive !== 'boolean' || /^(?:true|false)$/.test(String(value));
}

/** A shape in the model of an AWS API: a number for a simple type, or [kind, namespace, name, traits, …]. */
export type Shape = number | (() => Shape) | readonly [unknown, ...unknown[]];
const SIMPLE = ['string', 'number', 'boolean'];
const LIST = 64;
const MAP = 128;
const STRUCTURE = 3;

export function containerFaults(container: Shape, task: Body, containers: readonly Body[]): string[] {
  const volumes = (task['volume'] as readonly Body[]).map(({ name }) => textOf(name));
  const names = containers.map(({ name }) => textOf(name));
  return containers.flatMap((each) => {
    const mounted = (each['mountPoints'] as readonly Body[]).map(({ sourceVolume }) => textOf(sourceVolume));
    const awaited = ((each['dependsOn'] ?? []) as readonly Body[]).map(({ containerName }) =>
      textOf(containerName),
    );
    return [
      ...shapeFaults(container, each),
      ...mounted.filter((name) => !volumes.includes(name)).map((name) => `mounts the unknown ${name}`),
      ...awaited.filter((name) => !names.includes(name)).map((name) => `waits for ${name}`),
    ].map((fault) => `the container ${textOf(each['name'])} ${fault}`);
  });
}

function shapeFaults(shape: Shape, value: Json): string[] {
  if (typeof shape === 'function') return shapeFaults(shape(), value);
  if (typeof shape === 'number') return simpleFaults(shape, value);
  const [kind] = shape;
  // A shape with traits of the member that has it.
  if (typeof kind !== 'number') return shapeFaults(kind as Shape, value);
  if (kind !== STRUCTURE) {
    const elements = isUnknown(value) ? objectsIn(textOf(value)) : value;
    if (!Array.isArray(elements)) return ['is no list'];
    return elements.flatMap((each: Json) => shapeFaults(shape[4] as Shape, each));
  }
  if (isUnknown(value)) return [];
  if (!isBody(value)) return ['is no object'];
  const [names, members, required = 0] = shape.slice(4) as [string[], Shape[], number?];
  return [
    ...names
      .slice(0, required)
      .filter((name) => !(name in value))
      .map((name) => `lacks ${name}`),
    ...Object.entries(value).flatMap(([name, each]) => {
      const member = members[names.indexOf(name)];
      if (member === undefined) return [`has no member ${name}`];
      return shapeFaults(member, each).map((fault) => `${name} ${fault}`);
    }),
  ];
}

/** The objects that the expression of a list builds, with the names of their members. */
function objectsIn(expression: string): Body[] {
  return [...expression.matchAll(/(?<!\$)\{([^{}]*)\}/g)].map(([, members = '']) =>
    Object.fromEntries([...members.matchAll(/(\w+)\s*=/g)].map(([, name]) => [name, '${…}'])),
  );
}

function simpleFaults(shape: number, value: Json): string[] {
  if (isUnknown(value)) return [];
  if (shape >= MAP) return isBody(value) ? [] : ['is no map'];
  if (shape < LIST) return typeof value === SIMPLE[shape] ? [] : [`is no ${SIMPLE[shape]}`];
  if (!Array.isArray(value)) return ['is no list'];
  return value.flatMap((each: Json) => simpleFaults(shape - LIST, each));
}
