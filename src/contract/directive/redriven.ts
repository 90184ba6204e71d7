// The directive that a redrive has made of another, by their ids. Never hashes: an id that is too long for that is
// known to the queue only.

const SUCCESSOR = /^(?<stem>.*)\.redrive-(?<count>\d{1,9})$/;

/** The directive among these that a redrive of this one has made; null: there is none. */
export function redrivenAs(id: string, all: readonly { readonly id: string }[]): string | null {
  const next = nextOf(id);
  return all.some((each) => each.id === next) ? next : null;
}

/** As `redrivenAs`, of many. */
export function redrivenAmong(ids: ReadonlySet<string>): (id: string) => string | null {
  return (id) => (ids.has(nextOf(id)) ? nextOf(id) : null);
}

function nextOf(id: string): string {
  const groups = SUCCESSOR.exec(id)?.groups;
  return `${groups?.['stem'] ?? id}.redrive-${Number(groups?.['count'] ?? 0) + 1}`;
}
