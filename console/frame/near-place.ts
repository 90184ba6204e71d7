/** The place that an address without a page begins like.
 *  It must never lead out of the console. */

/** As `/dead` begins like `/dead-letters`; null: like none. */
export function nearPlace<Place extends { readonly to: string }>(
  pathname: string,
  places: readonly Place[],
): Place | null {
  const [first = ''] = pathname.split('/').filter(Boolean);
  if (first.length < 2) return null;
  return places.find(({ to }) => to.startsWith(`/${first.slice(0, 4)}`)) ?? null;
}
