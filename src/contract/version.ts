// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '3ee1b2401b88a186a1b507d66173f4dd050cc17286b132d6ee79f2a3bb6facb1';
