/** Looks for a text that was encrypted wherever a service keeps or shows something.
 *  It must never pass over a place that is empty: then nothing was looked at. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { gunzipSync } from 'node:zlib';

export interface SearchedPlaces {
  /** Where Redis has its append-only file. */
  readonly redisDir: string;
  /** Of the archive. */
  readonly archive: string;
  readonly log: readonly string[];
  readonly spans: unknown;
  readonly listings: readonly unknown[];
}

const LEAST_CHARACTERS = 500;
const BEFORE = 80;

/** What was found, with the place and what stands before it; empty: nothing. */
export function clearTextIn(text: string, places: SearchedPlaces): string[] {
  const texts = {
    redis: filesIn(join(places.redisDir, 'appendonlydir'), (file) => readFileSync(file, 'latin1')),
    archive: archivedIn(places.archive).map((name) => unpacked(join(places.archive, name))),
    log: places.log,
    traces: [inspect(places.spans, { depth: null, maxStringLength: null, maxArrayLength: null })],
    listings: [JSON.stringify(places.listings)],
  };
  return Object.entries(texts).flatMap(([place, all]) => {
    const whole = all.join('\n');
    if (whole.length < LEAST_CHARACTERS) return [`${place}: there is nothing to look at`];
    return formsOf(text).flatMap((form) =>
      [...whole.matchAll(new RegExp(`.{0,${BEFORE}}${form}`, 'g'))].map(([found]) => `${place}: ${found}`),
    );
  });
}

/** Names of its objects. */
export function archivedIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.jsonl.gz'),
  );
}

/** As it is, and in base64 wherever its first byte stands in a group of three. */
function formsOf(text: string): string[] {
  const shifted = [0, 1, 2].map((before) => {
    const encoded = Buffer.from(`${' '.repeat(before)}${text}`).toString('base64');
    // Of the first and the last group other bytes are part.
    return encoded.slice(before === 0 ? 0 : 4, Math.floor((before + text.length) / 3) * 4);
  });
  return [text, ...shifted].map((form) => form.replaceAll('+', '\\+'));
}

function filesIn(folder: string, read: (file: string) => string): string[] {
  return readdirSync(folder).map((name) => read(join(folder, name)));
}

function unpacked(file: string): string {
  return gunzipSync(readFileSync(file)).toString();
}
