// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.0.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'a5d15be46bd7c7f5f46779f2d7da123cbdee747b3ded2dd042a539a117e0e7a5';
