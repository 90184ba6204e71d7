/** The person who decides: the name of the session's key, or, where no key is needed, the name that was typed.
 *  Never sends a name for a session that has a key: the service knows it. */
import type { ReactNode } from 'react';
import { useSession } from '../../data/session.ts';
import { useStored } from '../../data/stored.ts';
import { TextField } from '../../parts/field.tsx';

const MOST_CHARACTERS = 128;

export interface Decider {
  /** Goes into the decision. */
  readonly by: { readonly by?: string };
  /** Asks for the name; null: it is known. */
  readonly field: ReactNode;
}

export function useDecider(): Decider {
  const { data } = useSession();
  const [name, setName] = useStored('name');
  if (data?.state !== 'open') return { by: {}, field: null };
  const field = (
    <TextField
      label="Your name"
      optional
      hint="Others see who decided."
      value={name}
      maxLength={MOST_CHARACTERS}
      autoComplete="name"
      onChange={(event) => setName(event.target.value)}
    />
  );
  return { by: { by: plainName(name) || 'console' }, field };
}

/** Without the characters that no name may hold. */
function plainName(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').trim();
}
