// Examines whether a store in a folder or a bucket can be reached, as the service reaches it.
// Must never write to it, nor show a key of access.
import { asError } from '../../platform/lifecycle.ts';
import { fault, fine, type Finding } from './finding.ts';

const LONGEST_SHOWN = 200;

export interface ExaminedStore {
  readonly place: string;
  check(): Promise<void>;
}

export interface StoreWords {
  /** The section that names it. */
  readonly section: string;
  /** Consequence of an unusable store, as `, so …`; '': none. */
  readonly effect: string;
  /** Rights that the key of a bucket needs. */
  readonly rights: string;
  readonly isFolder: boolean;
}

/** Nothing where there is none. */
export async function examineStore(
  store: ExaminedStore | null,
  { section, effect, rights, isFolder }: StoreWords,
): Promise<Finding[]> {
  if (store === null) return [];
  try {
    await store.check();
    return [fine(section, `${store.place} can be reached`)];
  } catch (error) {
    const reason = asError(error).message.slice(0, LONGEST_SHOWN);
    const fix = isFolder
      ? 'Make or mount the folder, and let the user of the service write to it.'
      : `Check \`${section}.endpoint\`, the bucket, and that its key may ${rights} objects.`;
    return [fault(section, `${store.place} cannot be used${effect}: ${reason}`, fix)];
  }
}
