/** The places where two JSON values differ, in the order of the first one. Never lists more than its limit. */
import { isObject } from '../../src/contract/json/json-object.ts';
import { jsonInText } from './json-lines.ts';

/** A member that one side lacks is absent there. */
export interface JsonDifference {
  readonly path: string;
  readonly a?: unknown;
  readonly b?: unknown;
}

export function jsonDifferences(
  a: unknown,
  b: unknown,
  most: number,
): { readonly differences: readonly JsonDifference[]; readonly isCut: boolean } {
  const differences: JsonDifference[] = [];
  const walk = (left: unknown, right: unknown, path: string): void => {
    if (differences.length > most || Object.is(left, right)) return;
    const [one, other] = [read(left), read(right)];
    if (Array.isArray(one) && Array.isArray(other)) {
      for (let at = 0; at < Math.max(one.length, other.length) && differences.length <= most; at += 1)
        member(one, other, at, `${path}[${at}]`);
    } else if (isObject(one) && isObject(other)) {
      for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
        if (differences.length > most) return;
        member(
          one,
          other,
          name,
          /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`,
        );
      }
    } else differences.push({ path, a: left, b: right });
  };
  const member = (one: object, other: object, name: string | number, path: string): void => {
    const [hasA, hasB] = [Object.hasOwn(one, name), Object.hasOwn(other, name)];
    if (hasA && hasB) walk(one[name as keyof typeof one], other[name as keyof typeof other], path);
    else if (hasA) differences.push({ path, a: one[name as keyof typeof one] });
    else differences.push({ path, b: other[name as keyof typeof other] });
  };
  walk(a, b, '$');
  return { differences: differences.slice(0, most), isCut: differences.length > most };
}

/** JSON within a text is compared as JSON. */
function read(value: unknown): unknown {
  return typeof value === 'string' ? (jsonInText(value) ?? value) : value;
}
