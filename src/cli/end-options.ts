/** The option that names who is notified of an end.
 *  It must never know which endpoints there are: the service says so. */
import type { Command } from 'commander';
import type { WebhookTarget } from '../contract/webhook.ts';

export interface EndOptions {
  /** Endpoints of the configuration, or URLs. */
  readonly onEnd?: readonly string[];
}

export function addEndOption(command: Command): Command {
  return command.option(
    '--on-end <endpoint>',
    'notify this endpoint of the configuration of the end (or a URL, where that is allowed); may be repeated',
    (given: string, before: readonly string[]) => [...before, given],
    [] as readonly string[],
  );
}

export function endFieldsOf({ onEnd = [] }: EndOptions): { on_end?: WebhookTarget[] } {
  if (onEnd.length === 0) return {};
  return { on_end: onEnd.map((target) => (target.includes('://') ? { url: target } : target)) };
}
