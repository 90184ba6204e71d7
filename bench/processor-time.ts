/** Processor time of running processes and of the machine, read from /proc (Linux only).
 *  It must not sample while a load runs: one read before, one after. */
import { existsSync, readFileSync } from 'node:fs';

/** Clock ticks a second in /proc/<pid>/stat: USER_HZ, which is 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** Milliseconds of processor time (user and system) that `pid` has used since its start; 0 once it has ended. */
export function processorTimeMs(pid: number): number {
  if (!existsSync(`/proc/${pid}`)) return 0;
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [userTicks, systemTicks] = [fields[11], fields[12]].map(Number);
  return (((userTicks ?? 0) + (systemTicks ?? 0)) / TICKS_PER_SECOND) * 1000;
}

/** The processes that `pid` started itself. */
export function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? [] : children.split(' ').map(Number);
}

/** Milliseconds of processor time that the whole machine has been busy since its start, over all cores. */
export function machineTimeMs(): number {
  const [total = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0] = total
    .trim()
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return ((user + nice + system + irq + softIrq) / TICKS_PER_SECOND) * 1000;
}
