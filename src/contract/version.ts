// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.1.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '32f9387d95b6385119f64d4a360d0f6184a10417d78fbb592ce7d4593ee97b71';
