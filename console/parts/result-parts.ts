/** The answer of a tool as parts that a page can show. No part is more than text, JSON, a raster image, a sound or a download. */
import { isObject } from '../../src/contract/json/json-object.ts';
import { jsonInText } from './json-lines.ts';

export type ResultPart =
  | { readonly kind: 'text'; readonly text: string; readonly label: string }
  | { readonly kind: 'json'; readonly value: unknown; readonly label: string }
  | {
      readonly kind: 'image' | 'audio';
      readonly mime: string;
      readonly base64: string;
      readonly label: string;
    }
  | {
      readonly kind: 'file';
      readonly mime: string;
      readonly base64: string;
      readonly label: string;
      readonly name: string;
    }
  | { readonly kind: 'link'; readonly uri: string; readonly label: string }
  | { readonly kind: 'preview'; readonly bytes: number; readonly text: string };

/** Never SVG: it can hold scripts, and links that are followed. */
const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const SOUNDS: ReadonlySet<string> = new Set([
  'audio/wav',
  'audio/x-wav',
  'audio/mpeg',
  'audio/mp3',
  'audio/mp4',
  'audio/aac',
  'audio/ogg',
  'audio/webm',
  'audio/flac',
]);

/** Maximum of one answer. */
export const MOST_PARTS = 100;

type Members = Readonly<Record<string, unknown>>;

/** `left`: how many parts are not among them. */
export function resultParts(payload: unknown): {
  readonly parts: readonly ResultPart[];
  readonly left: number;
} {
  if (typeof payload === 'string') return { parts: [textPart(payload, '')], left: 0 };
  if (isObject(payload) && isPreview(payload)) return { parts: [previewOf(payload)], left: 0 };
  const items = contentOf(payload);
  if (items === null) return { parts: [{ kind: 'json', value: payload, label: '' }], left: 0 };
  const parts = items.slice(0, MOST_PARTS).map(partOf);
  const structured = (payload as Members)['structured_content'];
  if (structured !== undefined) parts.push({ kind: 'json', value: structured, label: 'structured content' });
  return { parts, left: Math.max(0, items.length - MOST_PARTS) };
}

/** JSON in a text is shown as JSON: nothing is escaped twice. */
function textPart(text: string, label: string): ResultPart {
  const value = jsonInText(text);
  return value === null ? { kind: 'text', text, label } : { kind: 'json', value, label };
}

/** A result that is too large for the log: it holds the beginning, and the whole can be fetched. */
function isPreview(payload: Members): boolean {
  return (
    payload['truncated'] === true &&
    typeof payload['preview'] === 'string' &&
    typeof payload['bytes'] === 'number' &&
    typeof payload['reference'] === 'string'
  );
}

function previewOf(payload: Members): ResultPart {
  return { kind: 'preview', bytes: Number(payload['bytes']), text: plainPreview(String(payload['preview'])) };
}

/** Beginning of a JSON text, or of a list of content whose first part is a text. */
const TEXT_AHEAD = /^(?:\{"content":)?(?:\[\{"type":"text","text":)?(?=")/;
/** A preview that begins with a JSON text, as that text: quotes within it are not escaped. */
function plainPreview(preview: string): string {
  const ahead = TEXT_AHEAD.exec(preview);
  if (ahead === null) return preview;
  // A text that was cut within an escape ends before it.
  const body = /^"(?<inside>(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*)/s.exec(preview.slice(ahead[0].length));
  try {
    return JSON.parse(`"${body?.groups?.['inside'] ?? ''}"`) as string;
  } catch {
    return preview;
  }
}

/** null: the payload is the tool's own structure, not a list of content. */
function contentOf(payload: unknown): readonly Members[] | null {
  if (!isObject(payload)) return null;
  const items = payload['content'];
  const isAlone = Object.keys(payload).every((key) => key === 'content' || key === 'structured_content');
  if (!isAlone || !Array.isArray(items)) return null;
  const isItem = (item: unknown): item is Members => isObject(item) && typeof item['type'] === 'string';
  return items.every(isItem) ? items : null;
}

function partOf(item: Members): ResultPart {
  switch (item['type']) {
    case 'text':
      return typeof item['text'] === 'string' ? textPart(item['text'], '') : unknownPart(item);
    case 'image':
    case 'audio':
      return mediaPart(item, item['data'], String(item['type']));
    case 'resource':
      return isObject(item['resource']) ? resourcePart(item['resource']) : unknownPart(item);
    case 'resource_link':
      return linkPart(item);
    default:
      return unknownPart(item);
  }
}

function unknownPart(item: Members): ResultPart {
  return { kind: 'json', value: item, label: String(item['type']).slice(0, 80) };
}

/** Content that is neither a picture nor a sound that may be shown is a file. */
function mediaPart(item: Members, data: unknown, label: string, name = label): ResultPart {
  if (typeof data !== 'string') return unknownPart(item);
  const mime = mimeOf(item['mimeType']);
  if (IMAGES.has(mime)) return { kind: 'image', mime, base64: data, label };
  if (SOUNDS.has(mime)) return { kind: 'audio', mime, base64: data, label };
  return { kind: 'file', mime, base64: data, label, name: fileName(name, mime) };
}

function resourcePart(resource: Members): ResultPart {
  const uri = typeof resource['uri'] === 'string' ? resource['uri'] : '';
  if (typeof resource['text'] === 'string') return textPart(resource['text'], uri || 'resource');
  return mediaPart(resource, resource['blob'], uri || 'resource', uri.split('/').at(-1) ?? '');
}

function linkPart(item: Members): ResultPart {
  const { uri, title, name } = item;
  if (typeof uri !== 'string') return unknownPart(item);
  const label = typeof title === 'string' ? title : typeof name === 'string' ? name : '';
  return { kind: 'link', uri, label };
}

/** Without parameters, in small letters; '' = it says none that is one. */
function mimeOf(given: unknown): string {
  const [type = ''] = typeof given === 'string' ? given.split(';') : [];
  const mime = type.trim().toLowerCase();
  return /^[a-z0-9.+-]{1,64}\/[a-z0-9.+-]{1,64}$/.test(mime) ? mime : '';
}

const MOST_NAME = 80;

/** A name that no file system reads as more than a name. */
function fileName(given: string, mime: string): string {
  const plain = given
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]+/, '')
    .slice(0, MOST_NAME);
  if (plain.includes('.')) return plain;
  const ending = mime === 'image/svg+xml' ? 'svg' : (mime.split('/')[1]?.replaceAll(/[^a-z0-9]/g, '') ?? '');
  return `${plain || 'result'}.${ending.slice(0, 12) || 'bin'}`;
}

const LARGEST_BYTES = 64 * 1024 * 1024;

/** null: it is not base64, or too large to be held twice. */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | null {
  if (base64.length > (LARGEST_BYTES * 4) / 3) return null;
  try {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
    return bytes;
  } catch {
    return null;
  }
}
