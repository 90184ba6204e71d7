/** `adjutant reconcile`: finds out whether a tool call of unknown outcome happened.
 *  It must never make the call. */
import { ADJUTANT } from '../command-name.ts';
import { examples } from '../examples.ts';
import { EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine, Invocation } from '../invocation.ts';
import { oneLine, plainJson } from '../terminal.ts';

export function addReconcile({ program, withClient }: CommandLine): void {
  const verb = program
    .command('reconcile <call>')
    .description('find out whether <request>/<directive>, whose outcome is unknown, happened')
    .action(async (call: string) => withClient(async (invocation) => reconcile(invocation, call)));
  examples(verb, ['reconcile order-17/pay']);
}

const SHOWN = 2_000;

async function reconcile({ client, terminal, json }: Invocation, call: string): Promise<ExitCode> {
  const at = call.indexOf('/');
  if (at < 1 || at === call.length - 1)
    throw usage(`"${oneLine(call, 80)}" names no call.`, 'Give <request>/<directive>.');
  const found = await client.reconcile(call.slice(0, at), call.slice(at + 1));
  const { outcome, directive, tool, reason, result } = found;
  if (json) terminal.out(plainJson(found));
  else {
    const asked = `${oneLine(tool, 200)} was asked as ${directive.request_id}/${directive.id}`;
    terminal.out(`${outcome}  ${asked}${reason === null ? '' : `: ${oneLine(reason, 400)}`}`);
    if (result !== undefined) terminal.out(oneLine(JSON.stringify(result), SHOWN));
    if (outcome === 'happened') terminal.err('The call is no dead letter any more.');
    if (outcome === 'not_happened')
      terminal.err(`Make it: \`${ADJUTANT} dead redrive ${oneLine(call, 200)}\``);
  }
  return outcome === 'unknown' || outcome === 'pending' ? EXIT.failed : EXIT.done;
}
