// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '8c89ee8f88f2a406b0a80351b1bf3e2a55b7a1b406e52dec1a32606cfa159fd4';
