/** The error of a start-up script when the machine lacks something that only its owner can add.
 *  Its message must be one sentence that says what to do. */
export class Unprepared extends Error {
  name = 'Unprepared';
}

/** Runs `main`; an `Unprepared` becomes its sentence on stderr and exit code 2. */
export function reportUnprepared(main) {
  try {
    main();
  } catch (error) {
    if (!(error instanceof Unprepared)) throw error;
    process.stderr.write(`adjutant: ${error.message}\n`);
    process.exitCode = 2;
  }
}
