// Reads the configuration file: JSON with optional comments and trailing commas, and the place of each member.
// Must never repeat a part of the file in a message: it may be a secret.
import { readFileSync } from 'node:fs';
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { fieldPath } from '../contract/json/field-path.ts';

/** A place in the file, both from 1. */
export interface FilePlace {
  readonly line: number;
  readonly column: number;
}

export type ConfigFile =
  | { readonly ok: true; readonly value: unknown; placeOf(path: string): FilePlace | null }
  | { readonly ok: false; readonly message: string; readonly place: FilePlace | null };

export function readConfigFile(path: string): ConfigFile {
  let text: string;
  try {
    text = decoded(readFileSync(path));
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return { ok: false, message: `cannot be read (${code})`, place: null };
  }
  return parseConfigText(text);
}

/** Some editors and shells of Windows write UTF-16, and mark it at the beginning. */
function decoded(bytes: Buffer): string {
  const encoding = ENCODINGS.find(({ mark }) => bytes.subarray(0, 2).equals(mark))?.encoding ?? 'utf-8';
  return new TextDecoder(encoding, { ignoreBOM: true }).decode(bytes);
}

const ENCODINGS = [
  { mark: Buffer.from([0xff, 0xfe]), encoding: 'utf-16le' },
  { mark: Buffer.from([0xfe, 0xff]), encoding: 'utf-16be' },
] as const;

export function parseConfigText(text: string): ConfigFile {
  const source = text.replace(/^\uFEFF/, '');
  const errors: ParseError[] = [];
  const root = parseTree(source, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first !== undefined)
    return { ok: false, message: `is not JSON: ${faultText(first)}`, place: placeAt(source, first.offset) };
  if (root === undefined) throw new Error('a text without errors has no value');
  const offsets = new Map<string, number>();
  const value = valueOf(root, [], offsets);
  const placeOf = (path: string): FilePlace | null => {
    const offset = offsets.get(path);
    return offset === undefined ? null : placeAt(source, offset);
  };
  return { ok: true, value, placeOf };
}

/** The value of a node. Stores the offset of each member under its path; of its key where it has one. */
function valueOf(node: Node, keys: readonly PropertyKey[], offsets: Map<string, number>): unknown {
  const { children = [] } = node;
  const note = (offset: number): unknown => offsets.set(fieldPath(keys), offset);
  if (!offsets.has(fieldPath(keys))) note(node.offset);
  if (node.type === 'array') return children.map((item, index) => valueOf(item, [...keys, index], offsets));
  if (node.type !== 'object') return node.value as unknown;
  // `fromEntries` makes a key `__proto__` a member like any other.
  return Object.fromEntries(
    children.flatMap(({ children: [key, value] = [] }) => {
      if (key === undefined || value === undefined) return [];
      const name = String(key.value);
      offsets.set(fieldPath([...keys, name]), key.offset);
      return [[name, valueOf(value, [...keys, name], offsets)]];
    }),
  );
}

/** Messages by the parser's name of the fault. */
const FAULTS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is no value: text needs double quotes',
  InvalidNumberFormat: 'this number is not written as JSON wants it',
  PropertyNameExpected: 'a key in double quotes is missing here',
  ValueExpected: 'a value is missing here',
  ColonExpected: 'a colon is missing here',
  CommaExpected: 'a comma is missing here',
  CloseBraceExpected: 'a closing } is missing here',
  CloseBracketExpected: 'a closing ] is missing here',
  EndOfFileExpected: 'nothing may follow the value',
  UnexpectedEndOfComment: 'this comment is not closed',
  UnexpectedEndOfString: 'this text has no closing quote in its line',
  UnexpectedEndOfNumber: 'this number is not complete',
  InvalidUnicode: 'this text has an invalid \\u escape',
  InvalidEscapeCharacter: 'this text has an invalid character after a backslash',
  InvalidCharacter: 'this text has a control character or a line break',
};

function faultText({ error }: ParseError): string {
  return FAULTS[printParseErrorCode(error)] ?? 'it cannot be read here';
}

function placeAt(text: string, offset: number): FilePlace {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
