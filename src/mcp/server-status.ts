/** The status of a server, as code outside the pool sees it.
 *  It must never claim more than the pool knows: `ready` means connected with its tools read. */

export type ServerStatus = 'connecting' | 'ready' | 'unavailable';
