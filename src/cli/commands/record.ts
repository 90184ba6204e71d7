/** `adjutant record`: prints a request as a recorded case, which tests and `adjutant eval` replay.
 *  It must never print a secret that the request shows under the name of one. */
import { caseText } from '../../features/cases/case-file.ts';
import { recordArchive, recordRequest } from '../../features/cases/record.ts';
import { CaseFault, type RecordedCase } from '../../contract/case/case.ts';
import { CliFailure, EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';

export interface FromArchive {
  /** Reads the archive of the service in place of the log. */
  readonly archive?: boolean;
}

export function addRecord({ program, withClient }: CommandLine): void {
  program
    .command('record <request>')
    .description('print a request as a case for tests: questions and answers of its models and tools')
    .option('--archive', 'as it was archived when it closed, also after it has expired')
    .action(async (request: string, given: FromArchive) =>
      withClient(async (invocation) => record(invocation, request, given)),
    );
}

async function record(invocation: Invocation, requestId: string, given: FromArchive): Promise<ExitCode> {
  const recorded = await recordedCase(invocation, requestId, given);
  invocation.terminal.write(await withCaseFaults(() => caseText(recorded)));
  return EXIT.done;
}

/** A request of the service as a case. */
export async function recordedCase(
  { client, archive }: Pick<Invocation, 'client' | 'archive'>,
  requestId: string,
  { archive: isArchived = false }: FromArchive,
): Promise<RecordedCase> {
  const { ADJUTANT_API_KEY: key = '' } = process.env;
  const options = { secrets: [key] };
  const recording = isArchived
    ? recordArchive(archive.lines(requestId), (await client.tools({ remembered: true })).tools, options)
    : recordRequest(client, requestId, options);
  return recording.catch((error: unknown) => {
    throw caseFailure(error);
  });
}

export async function withCaseFaults<T>(step: () => Promise<T> | T): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw caseFailure(error);
  }
}

function caseFailure(error: unknown): unknown {
  if (!(error instanceof CaseFault)) return error;
  return new CliFailure({
    what: `${error.message}.`,
    how: 'Name a request, or a file that `adjutant record` wrote.',
  });
}
