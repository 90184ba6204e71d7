/** Foreign text as a host shows it: no character of it changes how the rest is shown, nor is one hidden.
 *  It must never let two values look alike, nor change what comes back with an answer. */
import { isObject } from '../contract/json-object.ts';

/** Control, format and private characters, spaces of other kinds than our own, and what is shown as nothing. */
const UNCLEAR = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu;
/** In prose, what can move or hide other text; spaces, emoji and joined letters are as their writer wants them. */
const DECEIVING = /(?![\n\t\u200C\u200D])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON again, on one line. */
export function plainJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(UNCLEAR, escaped);
}

export function plainText(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(DECEIVING, escaped);
}

/** A name before a text that somebody else wrote. */
export function plainName(name: string): string {
  return name.replaceAll(UNCLEAR, escaped);
}

function escaped(sign: string): string {
  return sign
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}

const PROSE = new Set(['title', 'description', 'enumNames']);

/** A schema of a form with plain titles and descriptions; null: a name or a value in it, which must come back as it is, is not plain. */
export function plainSchema(schema: Readonly<Record<string, unknown>>): Record<string, unknown> | null {
  const entries = Object.entries(schema).map(([key, value]) => [key, plainMember(key, value)] as const);
  const isPlain = entries.every(([key, value]) => key === plainText(key) && value !== null);
  return isPlain ? Object.fromEntries(entries.map(([key, value]) => [key, value?.is])) : null;
}

/** null: it cannot be shown. Nothing is deeper than `readQuestion` lets through. */
function plainMember(key: string, value: unknown): { readonly is: unknown } | null {
  if (typeof value === 'string') {
    const plain = plainText(value);
    return plain === value || PROSE.has(key) ? { is: plain } : null;
  }
  if (Array.isArray(value)) {
    const members = (value as unknown[]).map((each) => plainMember(key, each));
    return members.includes(null) ? null : { is: members.map((member) => member?.is) };
  }
  if (!isObject(value)) return { is: value };
  const plain = plainSchema(value);
  return plain && { is: plain };
}
