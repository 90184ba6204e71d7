/** Every verb of the command line, in the groups and the order of its help.
 *  A verb is a file in `commands`, which has its name, options and help; this is its only other place. */
import { addAgain } from './commands/again.ts';
import { addAnswer } from './commands/answer.ts';
import { addAsk } from './commands/ask.ts';
import { addAudit } from './commands/audit.ts';
import { addBudgets } from './commands/budgets.ts';
import { addCall } from './commands/call.ts';
import { addCancel } from './commands/cancel.ts';
import { addCompletion } from './commands/completion.ts';
import { addControl } from './commands/control.ts';
import { addDead } from './commands/dead.ts';
import { addDev } from './commands/dev.ts';
import { addFolder } from './commands/directive-folder.ts';
import { addDiff } from './commands/diff.ts';
import { addDirectiveServer } from './commands/directive-server.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEval } from './commands/eval.ts';
import { addGet } from './commands/get.ts';
import { addInit } from './commands/init.ts';
import { addKeys } from './commands/keys.ts';
import { addListen } from './commands/listen.ts';
import { addListings } from './commands/listings.ts';
import { addLlm } from './commands/llm.ts';
import { addLogins } from './commands/logins.ts';
import { addMcp } from './commands/mcp.ts';
import { addPayload } from './commands/payload.ts';
import { addPolicy } from './commands/policy.ts';
import { addPrioritize } from './commands/prioritize.ts';
import { addReconcile } from './commands/reconcile.ts';
import { addRecord } from './commands/record.ts';
import { addReindex } from './commands/reindex.ts';
import { addRequests } from './commands/requests.ts';
import { addResume } from './commands/resume.ts';
import { addSchedules } from './commands/schedules.ts';
import { addServers } from './commands/servers.ts';
import { addRoles } from './commands/serve.ts';
import { addSteering } from './commands/steer.ts';
import { addSubmit } from './commands/submit.ts';
import { addTail } from './commands/tail.ts';
import { addTop } from './commands/top.ts';
import { addTrace } from './commands/trace.ts';
import { addWorkers } from './commands/workers.ts';
import type { CommandLine } from './invocation.ts';

type AddVerb = (line: CommandLine) => void;

export const VERBS: readonly { readonly group: string; readonly verbs: readonly AddVerb[] }[] = [
  { group: 'Set up and run:', verbs: [addInit, addDev, addRoles, addDoctor, addCompletion] },
  { group: 'Call and ask:', verbs: [addCall, addLlm, addAsk, addSubmit, addAgain, addResume, addSchedules] },
  { group: 'Follow and find:', verbs: [addGet, addTail, addTrace, addRequests, addPayload, addListen] },
  { group: 'Steer:', verbs: [addSteering, addAnswer, addCancel, addPrioritize, addDead, addReconcile] },
  { group: 'Evaluate:', verbs: [addRecord, addEval, addDiff, addPolicy] },
  {
    group: 'Operate:',
    verbs: [
      addListings,
      addServers,
      addWorkers,
      addTop,
      addBudgets,
      addKeys,
      addLogins,
      addAudit,
      addReindex,
    ],
  },
  { group: 'Serve MCP:', verbs: [addMcp, addControl, addDirectiveServer, addFolder] },
];
