/** What Adjutant does not pass as an MCP server, check by check, with the reason.
 *  It must never name a whole scenario: its other checks would not be looked at any more. */
import type { ServerRun } from './suite-run.ts';

export const REVISIONS = ['2026-07-28', '2025-11-25'] as const;

interface Refusal {
  readonly why: string;
  /** `scenario check`. */
  readonly checks: readonly string[];
}

const REFUSED: readonly Refusal[] = [
  {
    why: 'subscriptions to single resources are not passed on: each belongs to one connection of one worker, and dies with it',
    checks: ['resources-subscribe resources-subscribe', 'resources-unsubscribe resources-unsubscribe'],
  },
  {
    why: 'a prompt that asks a question first is not passed on: nobody but its own client could answer',
    checks: ['input-required-result-non-tool-request sep-2322-non-tool-incomplete'],
  },
  {
    why: 'requests for a model’s answer (sampling) and for folders (roots) are not passed on: a model answers here where the server names one, folders nobody knows',
    checks: [
      'input-required-result-basic-list-roots sep-2322-list-roots-incomplete',
      'input-required-result-basic-sampling sep-2322-sampling-incomplete',
      'input-required-result-capability-check sep-2322-respect-client-capabilities',
      'input-required-result-multiple-input-requests sep-2322-multiple-inputs-incomplete',
      'tools-call-sampling tools-call-sampling',
    ],
  },
  {
    why: 'what a tool logs is not passed on: revision 2026-07-28 has removed the method that asks for it',
    checks: ['logging-set-level logging-set-level', 'tools-call-with-logging tools-call-with-logging'],
  },
  {
    why: 'a tool may need a capability that Adjutant does not offer it: whatever a call fails with is an error that a model reads',
    checks: [
      'server-stateless sep-2575-missing-capability-http-400',
      'server-stateless sep-2575-server-rejects-undeclared-capability',
    ],
  },
  {
    why: 'the same: an error of the protocol between Adjutant and the tool’s server is none between Adjutant and its client',
    checks: ['tasks-lifecycle sep-2663-tasks-get-status-failed'],
  },
  {
    why: 'no tool requires tasks: a client without them is held, and gets the same answer',
    checks: ['tasks-required-task-error sep-2663-server-returns-missing-capability-when-required'],
  },
];

const WHY: ReadonlyMap<string, string> = new Map(
  REFUSED.flatMap(({ why, checks }) => checks.map((check) => [check, why] as const)),
);

/** Why a scenario is not passed; empty: it is. */
export function refusalsOf({ scenario, failed }: ServerRun): string[] {
  return [...new Set(failed.map((check) => WHY.get(`${scenario} ${check}`) ?? 'NOT EXPECTED'))];
}

/** What these runs of all revisions show that the list does not say, a line each. */
export function unexpectedOf(runs: readonly ServerRun[]): string[] {
  const failing = new Set(runs.flatMap(({ scenario, failed }) => failed.map((id) => `${scenario} ${id}`)));
  const unlisted = [...failing].filter((check) => !WHY.has(check));
  const ran = new Set(runs.map(({ scenario }) => scenario));
  const passing = [...WHY.keys()].filter(
    (check) => ran.has(check.split(' ')[0] ?? '') && !failing.has(check),
  );
  return [
    ...unlisted.map((check) => `${check} fails, and server-scenarios.ts does not say why`),
    ...passing.map((check) => `${check} passes, and server-scenarios.ts says why it fails`),
  ];
}
