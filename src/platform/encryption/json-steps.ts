// Large values as JSON text in steps, so that a process does other work between two of them.
// Must never write another text than `JSON.stringify`, or the canonical form of that, would.
import { canonicalJson } from '../../contract/json/canonical-json.ts';
import { isObject } from '../../contract/json/json-object.ts';

type Step = () => Promise<void>;

/** Deeper, a value is written at once. */
const LEVELS = 4;
/** Name of the whole value in `JSON.stringify`. */
const ROOT = '';
/** Characters between two steps. */
const PIECE = 65_536;

/** How what is written at once is written, under its name or place; undefined: JSON leaves it out. */
type Write = (value: unknown, name: string) => string | undefined;

interface Writing {
  readonly write: Write;
  readonly isSorted: boolean;
  readonly step: Step;
  written: number;
}

const plain: Write = (value, name) =>
  hasOwnForm(value)
    ? member(JSON.stringify({ [name]: value }), name)
    : (JSON.stringify(value) as string | undefined);

/** Its own form may depend on its name. */
function member(text: string, name: string): string | undefined {
  return text === '{}' ? undefined : text.slice(JSON.stringify(name).length + 2, -1);
}

/** The order of an object's members says nothing. */
const canonical: Write = (value, name) => {
  const text = plain(value, name);
  return text === undefined ? undefined : canonicalJson(JSON.parse(text));
};

/** As `JSON.stringify`; what JSON cannot hold is `null`. Throws as it does. */
export async function jsonText(value: unknown, step: Step | undefined): Promise<string> {
  return (await text(value, plain, step)) ?? 'null';
}

/** As `canonicalJson` of what `JSON.stringify` would write. */
export async function canonicalText(value: unknown, step: Step | undefined): Promise<string> {
  return (await text(value, canonical, step)) ?? 'null';
}

async function text(value: unknown, write: Write, step: Step | undefined): Promise<string | undefined> {
  if (step === undefined) return write(value, ROOT);
  await step();
  return inSteps([ROOT, value], { write, isSorted: write === canonical, step, written: 0 }, LEVELS);
}

async function inSteps(
  [name, value]: readonly [string, unknown],
  writing: Writing,
  levels: number,
): Promise<string | undefined> {
  if (levels === 0 || !isPlain(value)) return atOnce(value, name, writing);
  const texts: string[] = [];
  if (Array.isArray(value)) {
    for (const [place, each] of value.entries())
      texts.push((await inSteps([String(place), each], writing, levels - 1)) ?? 'null');
    return `[${texts.join(',')}]`;
  }
  for (const own of namesOf(value, writing)) {
    const text = await inSteps([own, value[own]], writing, levels - 1);
    if (text !== undefined) texts.push(`${JSON.stringify(own)}:${text}`);
  }
  return `{${texts.join(',')}}`;
}

async function atOnce(value: unknown, name: string, writing: Writing): Promise<string | undefined> {
  const written = writing.write(value, name);
  writing.written += written?.length ?? 0;
  if (writing.written < PIECE) return written;
  writing.written = 0;
  await writing.step();
  return written;
}

function namesOf(value: object, { isSorted }: Writing): string[] {
  const names = Object.keys(value);
  return isSorted ? names.toSorted((left, right) => (left < right ? -1 : 1)) : names;
}

function hasOwnForm(value: unknown): boolean {
  return typeof (value as { toJSON?: unknown } | null | undefined)?.toJSON === 'function';
}

/** Others write themselves. */
function isPlain(value: unknown): value is Record<string, unknown> | unknown[] {
  if (Array.isArray(value)) return !('toJSON' in value);
  if (!isObject(value) || 'toJSON' in value) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
