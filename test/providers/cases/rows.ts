/** Every row of the matrix, in the order in which it is printed. */
import type { Row } from '../row.ts';
import { CALLS } from './calls.ts';
import { EMBEDDINGS } from './embeddings.ts';
import { ENDS } from './ends.ts';
import { HISTORY } from './history.ts';
import { REFUSALS } from './limits.ts';
import { SETTINGS } from './settings.ts';

export const ROWS: readonly Row[] = [...CALLS, ...EMBEDDINGS, ...HISTORY, ...ENDS, ...SETTINGS, ...REFUSALS];
