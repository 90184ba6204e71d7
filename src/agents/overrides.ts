// The changes that one run may make to its agent: limits and approvals. A caller never loosens the agent's limits,
// unless the agent's policy allows it.
import type { AgentDefinition, RunLimits } from '../contract/run/agent-definition.ts';
import type { FieldError } from '../contract/problem.ts';
import type { RunOverrides } from '../contract/run/run.ts';

type Overriding = Pick<RunOverrides, 'limits'>;
type Overridden = Pick<AgentDefinition, 'name' | 'limits' | 'policies'>;

/** Whether the run's own approvals and limits replace the agent's. */
export function mayLoosen({ policies }: Pick<AgentDefinition, 'policies'>): boolean {
  return policies.overrides === 'any';
}

/** The limits of a run: each the tighter one of the agent's and the run's. */
export function limitsOf(agent: Overridden, { limits: own = {} }: Overriding): RunLimits {
  const limits: Record<string, number | null> = { ...agent.limits };
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined) continue;
    const isTighter = roomOf(value) <= roomOf(limits[name] ?? null);
    if (isTighter || mayLoosen(agent)) limits[name] = value;
  }
  return limits as unknown as RunLimits;
}

/** Each limit of a run that is looser than its agent's; such a run is refused, not silently limited. */
export function looserLimits(agent: Overridden, { limits: own = {} }: Overriding): FieldError[] {
  if (mayLoosen(agent)) return [];
  const limits: Readonly<Record<string, number | null>> = agent.limits;
  return Object.entries(own).flatMap(([name, value]) => {
    const allowed = limits[name] ?? null;
    if (value === undefined || roomOf(value) <= roomOf(allowed)) return [];
    const message = `is at most ${allowed} for the agent "${agent.name}", whose policy \`overrides\` is "narrow"`;
    return [{ path: `overrides.limits.${name}`, message }];
  });
}

/** null = no limit. */
function roomOf(limit: number | null): number {
  return limit ?? Infinity;
}
