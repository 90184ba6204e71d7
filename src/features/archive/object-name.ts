// Where a request lies in the archive: names that follow from the request alone, so that each process gives the same ones.
// Must never let an id lead out of the archive, nor into another tenant's part, nor onto the place of another id.
import { hash } from 'node:crypto';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';

const LONGEST_SHOWN_ID = 100;
const DIGEST_LENGTH = 24;
const INSTANT_DIGITS = 13;
const SEQUENCE_DIGITS = 12;
const VERSION = /^(?<day>\d{4}-\d{2}-\d{2})\.(?:(?<createdAt>\d{1,16})\.)?(?<sequence>\d{1,16})\.jsonl\.gz$/;

/**
 * The folder of a request (scoped id), with a slash at its end. The id in it is for people: two ids that are similar, or
 * alike for a file system, have other digests.
 */
export function folderOf(scoped: string): string {
  const shown = ownId(scoped)
    .slice(0, LONGEST_SHOWN_ID)
    .replaceAll(/[^A-Za-z0-9_-]/g, '_');
  const digest = hash('sha256', scoped, 'hex').slice(0, DIGEST_LENGTH);
  return `${tenantOf(scoped)}/${digest.slice(0, 2)}/${shown}-${digest}/`;
}

export interface Version {
  readonly createdAt: number;
  readonly closedAt: number;
  readonly sequence: number;
}

/**
 * A request that is opened again and closed again has more signals, and an id that is used again after its request has
 * expired another creation: other versions.
 */
export function versionName({ createdAt, closedAt, sequence }: Version): string {
  const created = String(createdAt).padStart(INSTANT_DIGITS, '0');
  return `${dayOf(closedAt)}.${created}.${String(sequence).padStart(SEQUENCE_DIGITS, '0')}.jsonl.gz`;
}

/** Order of names that `newestOf` has found. Days compare as text. */
export function closedOnOrAfter(name: string, at: number): boolean {
  return (VERSION.exec(name)?.groups?.['day'] ?? '') >= dayOf(at);
}

function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

/** The one that was created last, and of these the one with the most signals. null: there is no version among the names. */
export function newestOf(names: Iterable<string>): string | null {
  let newest: { name: string; createdAt: number; sequence: number } | null = null;
  for (const name of names) {
    const groups = VERSION.exec(name)?.groups;
    if (groups === undefined) continue;
    const found = { name, createdAt: Number(groups['createdAt'] ?? 0), sequence: Number(groups['sequence']) };
    const later =
      newest === null ? 1 : found.createdAt - newest.createdAt || found.sequence - newest.sequence;
    if (later > 0) newest = found;
  }
  return newest?.name ?? null;
}
