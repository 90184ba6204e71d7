/** Numbers of a structured result that JavaScript cannot hold: they go on as strings of their digits, and their places are noted.
 *  It must never lose a result for such a number: its tool has run, and may not run again. */
import { type Keys, parseKeepingDigits } from '../../contract/json/exact-json.ts';
import { fieldPath } from '../../contract/json/field-path.ts';
import { isObject } from '../../contract/json/json-object.ts';

const KEPT_META = 'adjutant/keptDigits';
const STRUCTURED = 'structuredContent';
/** Places that metadata name. */
const MOST_NAMED = 20;

/** Other members are the protocol's, among them schemas, whose bounds may be such numbers: those stay numbers. */
function isStructured(keys: Keys): boolean {
  const at = keys.indexOf(STRUCTURED);
  return at > 0 && keys.slice(0, at).every((key) => key === 'result' || typeof key === 'number');
}

/** The value of a JSON text of one or several messages. `isChanged`: it holds strings instead of numbers. */
export function parseMessage(text: string): { value: unknown; isChanged: boolean } {
  const { value, kept } = parseKeepingDigits(text, isStructured);
  for (const keys of kept) {
    const at = keys.indexOf(STRUCTURED);
    const holder = keys.slice(0, at).reduce<unknown>(memberOf, value);
    if (isObject(holder)) note(holder, keys.slice(at + 1));
  }
  return { value, isChanged: kept.length > 0 };
}

function note(holder: Record<string, unknown>, keys: Keys): void {
  const meta = isObject(holder['_meta']) ? holder['_meta'] : {};
  holder['_meta'] = meta;
  const places = meta[KEPT_META];
  if (Array.isArray(places)) places.push(keys);
  else meta[KEPT_META] = [keys];
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<PropertyKey, unknown>)[key]
    : undefined;
}

type Noted = Readonly<Record<string, unknown>> | undefined;

/** The paths of the first 20 such numbers in the structured content of a result. */
export function keptDigits(meta: Noted): string[] {
  return placesIn(meta)
    .slice(0, MOST_NAMED)
    .map((keys) => fieldPath(keys));
}

/** The structured content with rounded numbers in those places, as its schema expects; undefined: there are none. */
export function withNumbers(structured: unknown, meta: Noted): unknown {
  const places = placesIn(meta);
  if (places.length === 0) return undefined;
  const root = structuredClone({ structured });
  for (const keys of places) {
    const path = ['structured', ...keys];
    const last = path.pop() as PropertyKey;
    const holder = path.reduce<unknown>(memberOf, root);
    const digits = memberOf(holder, last);
    if (typeof digits === 'string') (holder as Record<PropertyKey, unknown>)[last] = Number(digits);
  }
  return root.structured;
}

function placesIn(meta: Noted): PropertyKey[][] {
  const places = meta?.[KEPT_META];
  if (!Array.isArray(places)) return [];
  return places.filter((keys): keys is PropertyKey[] => Array.isArray(keys) && keys.every(isKey));
}

function isKey(key: unknown): key is PropertyKey {
  return typeof key === 'string' || typeof key === 'number';
}
