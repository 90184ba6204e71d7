/** A choice of one agent. Never lacks the chosen one, also when no engine has it now. */
import type { AgentListing } from '../../src/contract/run/agent-listing.ts';
import { useRead } from '../data/queries.ts';
import { Select } from './select.tsx';

const MOST = 50;

interface AgentSelectProps {
  /** Name of the chosen agent; '' for none. */
  readonly agent: string;
  readonly onAgent: (agent: string) => void;
}

export function AgentSelect({ agent, onAgent }: AgentSelectProps) {
  const { data } = useRead<AgentListing>('/v1/agents');
  const names = new Set([agent, ...(data?.agents ?? []).slice(0, MOST).map(({ name }) => name)]);
  return (
    <Select
      label="Agent"
      value={agent}
      options={[...names].map((name) => [name, name === '' ? 'Choose an agent' : name] as const)}
      onChange={onAgent}
    />
  );
}
