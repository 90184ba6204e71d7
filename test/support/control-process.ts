/** The built-in control server while a run waits for a person: its processes are killed, then the person approves.
 *  It must never end a process of another test. */
import { execFileSync } from 'node:child_process';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';

/** Approves each call that asks, to the end of the run. Returns how many servers were killed before each approval. */
export async function approvedOverKills(client: DirectiveClient, id: string): Promise<number[]> {
  const killed: number[] = [];
  for await (const { type, data } of client.signals(id)) {
    if (type !== 'ai.tool.approval_requested') continue;
    killed.push(killControlServers());
    await client.runs.decide(id, data.call_id, { decision: 'approve' });
  }
  return killed;
}

/** Those of this process. */
function killControlServers(): number {
  const listed = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const mine = new RegExp(String.raw`^\s*(\d+)\s+${process.pid}\s.*servers/control/main`, 'gm');
  const pids = [...listed.matchAll(mine)].map(([, pid]) => Number(pid));
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  return pids.length;
}
