// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a change of the version: the contract grows, it does not move.

export const CONTRACT_VERSION = '1.1.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '9d40737e44e81eb65dfa1207afd9db120e2607c780d10e5d4f49772489cdf833';
