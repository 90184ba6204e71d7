// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '62aedb36f3d557a64412402ab0ea3822d943c52cc81ffd18fa7bc25c0c0bfd81';
