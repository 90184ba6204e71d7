/** `adjutant logins` and `logins forget`: the logins of the caller at MCP servers that are called with the logins of callers.
 *  It must never print a token. */
import type { ForgetLoginQuery, PersonalLogin } from '../../contract/access/personal-login.ts';
import { EXIT, type ExitCode } from '../failure.ts';
import type { CommandLine, KeyInvocation } from '../invocation.ts';
import { instantText } from '../table.ts';
import { oneLine } from '../terminal.ts';

export function addLogins({ program, withKeys }: CommandLine): void {
  const logins = program
    .command('logins')
    .description('show your own logins at MCP servers, and where to log in')
    .action(async () => withKeys(list));
  logins
    .command('forget <server>')
    .description('remove your login at a server: no call acts for you there any more')
    .option('--caller <id>', 'remove the login of another caller: a key, or oidc:<subject> (admin)')
    .action(async (server: string, query: ForgetLoginQuery) =>
      withKeys(async (invocation) => forget(invocation, server, query)),
    );
}

async function list({ keys, terminal, json }: KeyInvocation): Promise<ExitCode> {
  const listing = await keys.logins();
  if (json) terminal.out(JSON.stringify(listing));
  else if (listing.logins.length === 0) terminal.out('No MCP server here asks callers for logins.');
  else terminal.rows([['server', 'logged in', 'account', 'log in at'], ...listing.logins.map(row)]);
  return EXIT.done;
}

function row({ server, logged_in_at: at, account = '-', url }: PersonalLogin): string[] {
  return [server, at === null ? 'no' : instantText(at, 'minutes'), oneLine(account, 40), oneLine(url, 200)];
}

async function forget(
  { keys, terminal, json }: KeyInvocation,
  server: string,
  query: ForgetLoginQuery,
): Promise<ExitCode> {
  const answer = await keys.forgetLogin(server, query);
  const named = query.caller === undefined ? null : oneLine(query.caller, 80);
  const at = oneLine(server, 64);
  if (json) terminal.out(JSON.stringify(answer));
  else
    terminal.out(
      answer.forgotten
        ? `${named === null ? 'Your login' : `The login of ${named}`} at ${at} is removed; calls that need it ask for a new one.`
        : `${named ?? 'You'} had no login at ${at}.`,
    );
  return EXIT.done;
}
