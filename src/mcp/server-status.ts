/** How a server stands, as everybody outside the pool sees it.
 *  It must never say more than the pool knows: `ready` means connected with its tools read. */

export type ServerStatus = 'connecting' | 'ready' | 'unavailable';
