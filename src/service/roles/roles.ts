// The roles that a process has.
// Must never say how a role works.

/** Every process sweeps, whatever its roles; of what is due each entry goes to one process. */
export interface Roles {
  api?: boolean;
  engine?: boolean;
  worker?: boolean;
}

export function roleNames({ api = false, engine = false, worker = false }: Roles): string[] {
  return Object.entries({ api, engine, worker }).flatMap(([role, has]) => (has ? [role] : []));
}
