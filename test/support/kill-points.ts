/** The points at which tests kill a process: the whole `npm test` takes a third of them, a file that runs alone takes all. */

const ARE_FEW = process.env['ADJUTANT_TEST_POINTS'] === 'few';

/** One point in so many is taken. Odd, so that points before and after a command are among them. */
export const TAKEN_OF = ARE_FEW ? 3 : 1;

export function takenPoints<T>(points: readonly T[]): T[] {
  return points.filter((_, index) => index % TAKEN_OF === 0);
}
