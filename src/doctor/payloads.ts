// Examines whether the store of large payloads can be reached, as the service reaches it.
// Must never write to it, nor show a key of access.
import type { Config } from '../config/config.ts';
import { checkPayloads } from '../service/large-payloads.ts';
import { fault, fine, type Finding } from './finding.ts';

const LONGEST_SHOWN = 200;
const SUBJECT = 'payloads';

type Place = Pick<Config, 'payloads' | 'directory' | 'prefix'>;

/** Nothing where all payloads are in Redis. */
export async function examinePayloads(config: Place): Promise<Finding[]> {
  const found = await checkPayloads(config);
  if (found === null) return [];
  const { place, error } = found;
  if (error === null) return [fine(SUBJECT, `${place} can be reached`)];
  const says = `${place} cannot be used, so large submissions are refused: ${error.slice(0, LONGEST_SHOWN)}`;
  const fix =
    config.payloads?.folder === undefined
      ? 'Check `payloads.endpoint`, the bucket, and that its key may read, write and delete objects.'
      : 'Make or mount the folder, and let the user of the service write to it.';
  return [fault(SUBJECT, says, fix)];
}
