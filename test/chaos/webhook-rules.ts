/** The promise about webhooks: each end that was asked for is delivered at least once, under one id, and no other is.
 *  It must never count what is not signed: the receiver has verified it. */

/** What the receiver took. */
export interface Delivered {
  /** `webhook-id`. */
  readonly id: string;
  readonly event: {
    readonly data: { readonly request_id: string; readonly id?: string; readonly status: string };
  };
}

/** `wanted`: `<request>/<directive>` that asked for it, with its status. */
export function webhookViolationsOf(
  wanted: ReadonlyMap<string, string>,
  received: readonly Delivered[],
): string[] {
  const about = Map.groupBy(received, ({ event: { data } }) => `${data.request_id}/${data.id}`);
  const found = [...wanted].flatMap(([name, status]) => {
    const deliveries = about.get(name) ?? [];
    if (deliveries.length === 0) return [`${name} has ended, and nobody was notified`];
    const ids = new Set(deliveries.map(({ id }) => id));
    const said = new Set(deliveries.map(({ event }) => event.data.status === 'succeeded'));
    return [
      ...(ids.size > 1 ? [`the end of ${name} was delivered under ${ids.size} ids`] : []),
      ...(said.size > 1 || !said.has(status === 'succeeded')
        ? [`${name} is ${status}, and its webhook says something else`]
        : []),
    ];
  });
  const strange = [...about.keys()].filter((name) => !wanted.has(name));
  return [...found, ...strange.map((name) => `${name} was delivered, and had not asked for it`)];
}
