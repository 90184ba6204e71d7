/** The schedule that a request belongs to, by its id. Never takes an id that the service has not made for a schedule. */

const OF_SCHEDULE = /^schedule\.([A-Za-z0-9._:-]{1,64})\.(?:trigger\..+|\d{8}T\d{6}Z)$/;

/** null: no schedule has submitted the request. */
export function scheduleOf(requestId: string): string | null {
  return OF_SCHEDULE.exec(requestId)?.[1] ?? null;
}
