// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'db6c1af89f79c7e1e79378f565213cfb43444e9e42f66e289e44ac36cc042941';
