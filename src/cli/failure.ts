/** The failure of a command: what is wrong, how to fix it, and the exit code.
 *  It must never be used for bugs in our own code: those keep their stack. */

/** 0 done · 1 the directive failed · 2 usage · 3 service unreachable · 4 accepted, but the key may not read the answer · 130 interrupted. */
export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3, unread: 4, interrupted: 130 } as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface Failure {
  readonly what: string;
  readonly how: string;
  /** Type of the error for programs. Default: by the exit code. */
  readonly type?: string;
  /** Default: 1. */
  readonly exitCode?: ExitCode;
  /** Ids of accepted work, for programs. */
  readonly ids?: Readonly<Record<string, string>>;
}

export class CliFailure extends Error {
  override readonly name = 'CliFailure';
  readonly how: string;
  readonly exitCode: ExitCode;
  readonly ids: Readonly<Record<string, string>>;
  readonly type: string | null;

  constructor(failure: Failure, options?: ErrorOptions) {
    super(failure.what, options);
    this.how = failure.how;
    this.exitCode = failure.exitCode ?? EXIT.failed;
    this.ids = failure.ids ?? {};
    this.type = failure.type ?? null;
  }
}

export function usage(what: string, how: string): CliFailure {
  return new CliFailure({ what, how, exitCode: EXIT.usage });
}
