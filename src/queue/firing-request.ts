// The refusal of what callers submit under the ids of firings: they are known ahead of time, and a firing must find its own free.
// Must never refuse a schedule its own firing.
import type { DirectiveClient } from '../contract/directive-client.ts';
import { refusedAt } from '../contract/field-sentence.ts';
import { FIRING_PREFIX } from '../contract/schedule.ts';

type Senders = Pick<DirectiveClient, 'submit' | 'execute'> & { readonly runs: DirectiveClient['runs'] };

const MESSAGE = `ids that begin with "${FIRING_PREFIX}" are only for what schedules fire; use another id`;

export function withoutFiringIds<S extends Senders>(senders: S): S {
  const { submit, execute, runs } = senders;
  return {
    ...senders,
    submit: async (directives, options) => {
      refuseAll(directives);
      return submit(directives, options);
    },
    execute: async (directive, options) => {
      refuse(directive, '');
      return execute(directive, options);
    },
    runs: {
      ...runs,
      start: async (run, options) => {
        refuse(run, '');
        return runs.start(run, options);
      },
    },
  };
}

/** One, several, or the body of several. */
function refuseAll(submitted: unknown): void {
  const { directives = submitted } = Object(submitted) as { directives?: unknown };
  if (!Array.isArray(directives)) return refuse(directives, '');
  for (const [at, each] of (directives as unknown[]).entries()) refuse(each, `directives[${at}].`);
}

/** What is no text is refused by whoever reads it. */
function refuse(submitted: unknown, where: string): void {
  const { request_id: id } = Object(submitted) as { request_id?: unknown };
  if (typeof id !== 'string' || !id.startsWith(FIRING_PREFIX)) return;
  throw refusedAt('invalid_body', [{ path: `${where}request_id`, message: MESSAGE }]);
}
