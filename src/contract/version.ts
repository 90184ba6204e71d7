// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'd69ba9d8a7544a2cfad33376700876af96f2553da630b6a266585f9b25f36082';
