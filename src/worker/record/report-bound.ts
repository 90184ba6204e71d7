// Keeps what an attempt reports beside text within a size that the log and its readers can bear.
// Must never cut a report without saying so in it, nor fail on any value.
import { jsonSafe } from '../../contract/json/json-safe.ts';

/** The largest data of one report, bytes of its JSON. */
export const LARGEST_REPORT_BYTES = 16_384;

/** Tried one after the other; the last one always fits. */
const TIGHTER_BOUNDS = [
  { characters: 4_096, entries: 50, values: 500 },
  { characters: 512, entries: 20, values: 100 },
];
const LONGEST_NAME = 256;
const NAMES = ['call_id', 'tool_name', 'progress', 'total', 'chunk_type'];
const BYTES_A_CHARACTER = 3;

type Data = Readonly<Record<string, unknown>>;

/** The data as it was when it fits; else cut, with its size in `metadata.truncated_bytes` (null: it was no JSON). */
export function boundReport<D extends object>(data: D): D {
  const bytes = bytesOf(data);
  if (bytes !== null && bytes <= LARGEST_REPORT_BYTES) return data;
  for (const bounds of TIGHTER_BOUNDS) {
    const cut = marked({ ...(jsonSafe(data, bounds) as Data), ...namesOf(data as Data) }, bytes);
    if ((bytesOf(cut) ?? Infinity) <= LARGEST_REPORT_BYTES) return cut as D;
  }
  return marked(namesOf(data as Data), bytes) as D;
}

/** null: it cannot be written as JSON. */
function bytesOf(data: object): number | null {
  try {
    const json = JSON.stringify(data);
    // Most reports are decided by their length alone.
    return json.length * BYTES_A_CHARACTER <= LARGEST_REPORT_BYTES ? json.length : Buffer.byteLength(json);
  } catch {
    return null;
  }
}

function marked(data: Data, bytes: number | null): Data {
  const metadata = typeof data['metadata'] === 'object' ? data['metadata'] : {};
  return { ...data, metadata: { ...metadata, truncated_bytes: bytes } };
}

/** Which call it is, and how far it is. */
function namesOf(data: Data): Data {
  const isShort = (value: unknown): boolean =>
    typeof value === 'number' || (typeof value === 'string' && value.length <= LONGEST_NAME);
  return Object.fromEntries(NAMES.filter((name) => isShort(data[name])).map((name) => [name, data[name]]));
}
