// The text of a tool's result that a model reads: one JSON string.
// Must never change a value without a mark in the text, nor exceed its bound.
import { isObject, setOwnMember } from '../json/json-object.ts';
import { TRUNCATED, TRUNCATED_KEY } from '../json/json-safe.ts';
import { normalizeResult } from '../result.ts';

/** Default bound of a tool's result in a model's context: about 25,000 tokens. Unit: characters. */
export const MODEL_CHARACTERS = 100_000;

/**
 * Content for the model: `{"ok": true, "result": ...}` or `{"ok": false, "error": {...}}`, from any spelling of a result
 * that `normalizeResult` reads. A larger one is cut to `characters`, with a mark at each cut and a member `truncated`.
 */
export function toolContent(result: unknown, characters = MODEL_CHARACTERS): string {
  const normal = normalizeResult(result);
  if (normal.ok) return bounded({ ok: true, result: normal.payload }, 'result', characters);
  const { type, message, details, retryable } = normal.error;
  return bounded({ ok: false, error: { type, message, details, retryable } }, 'error', characters);
}

type Content = Readonly<Record<string, unknown>>;

const HOW_TO_CONTINUE = `The parts at the marks "...[truncated" and "${TRUNCATED_KEY}" were left out. To read them, ask for less at a time: a page, a range, a filter or fewer fields.`;
/** Characters for the member `truncated`. */
const NOTE_CHARACTERS = HOW_TO_CONTINUE.length + 100;
const LEAST_CHARACTERS = 512;

function bounded(content: Content, key: 'result' | 'error', characters: number): string {
  const whole = wellFormed(content);
  if (whole.length <= characters) {
    // An envelope bounds its own texts.
    const isCut = key === 'error' && whole.includes(TRUNCATED);
    return isCut ? wellFormed({ ...content, truncated: { note: HOW_TO_CONTINUE } }) : whole;
  }
  const room = Math.max(LEAST_CHARACTERS, characters - NOTE_CHARACTERS);
  const value = content[key];
  const kept = fitted(value, room, sizesOf(value, room));
  const left_out = whole.length - JSON.stringify({ ...content, [key]: kept }).length;
  const truncated = { characters: whole.length, left_out, note: HOW_TO_CONTINUE };
  return wellFormed({ ...content, [key]: kept, truncated });
}

/** JSON in which a half of a surrogate pair is replaced: providers refuse it. */
function wellFormed(content: Content): string {
  const json = JSON.stringify(content);
  if (!/\\ud[89a-f]/.test(json)) return json;
  return JSON.stringify(content, (_key, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed() : value,
  );
}

/** The length of the JSON of each object and list; of a long one that does not fit, at least that of what fits. */
type Sizes = ReadonlyMap<object, number>;

function sizesOf(value: unknown, room: number): Sizes {
  const sizes = new Map<object, number>();
  const measure = (part: unknown): number => {
    if (typeof part !== 'object' || part === null) return jsonLength(part);
    let size = 1;
    if (Array.isArray(part)) {
      for (const [index, item] of part.entries()) {
        if (index > FEW_ITEMS && size > room) break;
        size += measure(item) + 1;
      }
    } else {
      const keys = Object.keys(part);
      const isTooMany = keys.length * LEAST_MEMBER_CHARACTERS > room;
      for (const key of keys) {
        if (isTooMany && size > room) break;
        size += keyLength(key) + measure((part as Content)[key]) + 1;
      }
    }
    sizes.set(part, Math.max(2, size));
    return Math.max(2, size);
  };
  measure(value);
  return sizes;
}

/** Characters that JSON writes otherwise than they are. */
// oxlint-disable-next-line no-control-regex
const ESCAPED = /["\\\u0000-\u001f\ud800-\udfff]/;

function jsonLength(value: unknown): number {
  if (typeof value === 'string' && !ESCAPED.test(value)) return value.length + 2;
  // A member that is undefined is not written.
  return (JSON.stringify(value) ?? '').length;
}

function keyLength(key: string): number {
  return jsonLength(key) + 1;
}

/** Characters that a mark takes, and the least that is left of a value that is cut. */
const MARK_CHARACTERS = 64;
/** A list of so many items is cut within them, a longer one after the last item that fits. */
const FEW_ITEMS = 8;
/** The shortest member of an object, with its comma: `"":0,`. */
const LEAST_MEMBER_CHARACTERS = 5;

/** The value within `room` characters of JSON. */
function fitted(value: unknown, room: number, sizes: Sizes): unknown {
  if (sizeOf(value, sizes) <= room) return value;
  if (typeof value === 'string') return cutText(value, room);
  if (room < 2 * MARK_CHARACTERS) return TRUNCATED;
  if (Array.isArray(value)) return cutList(value, room, sizes);
  return isObject(value) ? cutObject(value, room, sizes) : TRUNCATED;
}

function sizeOf(value: unknown, sizes: Sizes): number {
  return typeof value === 'object' && value !== null ? (sizes.get(value) ?? 0) : jsonLength(value);
}

function cutText(text: string, room: number): string {
  const most = room - MARK_CHARACTERS;
  let kept = Math.max(0, Math.min(text.length, most));
  for (let length = jsonLength(text.slice(0, kept)); length > most && kept > 0;) {
    kept = Math.floor((kept * Math.max(0, most)) / length);
    length = jsonLength(text.slice(0, kept));
  }
  const left = text.length - kept;
  return `${text.slice(0, kept).toWellFormed()}...[truncated ${left} of ${text.length} characters]`;
}

function cutList(items: readonly unknown[], room: number, sizes: Sizes): unknown[] {
  if (items.length <= FEW_ITEMS) {
    const lengths = items.map((item) => sizeOf(item, sizes) + 1);
    const share = shareOf(lengths, room - 2);
    if (share >= MARK_CHARACTERS) return items.map((item) => fitted(item, share - 1, sizes));
  }
  let left = room - 2 - MARK_CHARACTERS;
  const end = items.findIndex((item) => (left -= sizeOf(item, sizes) + 1) < 0);
  // The first item is cut rather than left out.
  const kept = end === 0 ? [fitted(items[0], room - 2 - MARK_CHARACTERS, sizes)] : items.slice(0, end);
  return [...kept, `...[truncated ${items.length - kept.length} items]`];
}

/** Small members stay whole and large ones share the rest, so that a cursor behind a long text is kept. */
function cutObject(value: Content, room: number, sizes: Sizes): Content {
  const names = Object.keys(value);
  const copy: Record<string, unknown> = {};
  const share = names.length * LEAST_MEMBER_CHARACTERS > room ? 0 : shareOfMembers(value, names, room, sizes);
  if (share >= MARK_CHARACTERS) {
    for (const name of names) setOwnMember(copy, name, fitted(value[name], share, sizes));
    return copy;
  }
  let left = room - 2 - MARK_CHARACTERS;
  let kept = 0;
  for (const name of names) {
    left -= keyLength(name) + 1 + sizeOf(value[name], sizes);
    if (left < 0) break;
    setOwnMember(copy, name, value[name]);
    kept += 1;
  }
  copy[TRUNCATED_KEY] = names.length - kept;
  return copy;
}

function shareOfMembers(value: Content, names: readonly string[], room: number, sizes: Sizes): number {
  const keys = names.reduce((sum, name) => sum + keyLength(name) + 1, 2);
  return shareOf(
    names.map((name) => sizeOf(value[name], sizes)),
    room - keys,
  );
}

/** The largest length that each may have, so that all of them are within `room`; 0: there is no such length. */
function shareOf(lengths: readonly number[], room: number): number {
  let left = room;
  for (const [index, length] of lengths.toSorted((one, other) => one - other).entries()) {
    const share = Math.floor(left / (lengths.length - index));
    if (length > share) return Math.max(0, share);
    left -= length;
  }
  return room;
}
